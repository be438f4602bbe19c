"""What a piece says in special cases, and what it refuses."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts.site.live import PieceError

SENTENCES = [
    ("balloon", {"step": 2}, "out of memory, because raw scores and scores"),
    ("balloon", {"words": 64, "dim": 64}, "because N = d"),
    ("balloon", {"batch": 16, "step": 5}, "Only the output is left"),
    ("bits", {"number": "inf", "format": "E8M0"}, "NaN"),
    ("bits", {"number": "3", "format": "E8M0"}, "at or below"),
    ("bits", {"number": "5", "format": "E2M1"}, "A tie goes to the even code"),
    ("bits", {"code": "3c"}, "The nearest code is 0 0011 101"),
    ("quantized_block", {"tensor": "1e-30"}, "clipped to 2.688·10⁻²⁷"),
    ("quantized_block", {"tensor": "1", "numbers": "3200 2e3"}, "3200 is clipped to 2688"),
    ("quantized_block", {"scheme": "MXFP4", "numbers": "6.75 4"}, "nothing is lost"),
    ("quantized_block", {"louder": 10}, "9 of the other 14"),
    ("calculator", {"batch": 64}, "doesn’t fit"),
    ("strides", {"copied": "true"}, "cells 0, 1, 2 and 3"),
    ("strides", {"exchange": ""}, "in row 1 and row 2"),
    ("decode", {"wrong": "average"}, "[4.5, 4.5]. That’s wrong"),
    ("decode", {"wrong": "causal"}, "[9, 0]. Nothing crashes"),
    ("decode", {"a": 5, "step": 1}, "entry 4 div 2 = 2 of its table, which takes a new one, page 2"),
    ("dot", {"q": "0 0", "k": "3 -4"}, "A list of zeros"),
    ("flash", {"causal": "false", "step": 2}, "what it kept is now worth 0.5 of it"),
    ("overflow", {"scores": "100 10 9"}, "doesn’t fit into FP16"),
    ("overflow", {"scores": "11 10 9"}, "their sum doesn’t"),
    ("overflow", {"scores": "-inf -inf"}, "nothing to share"),
    ("accumulator", {"step": 2}, "all three columns shrank by e−1"),
    ("accumulator", {"step": 4}, "the output: [5, 5]"),
    ("accumulator", {"step": 4, "forget": "true"}, "the output is [6.12, 3.88]. All six at once give [5, 5]"),
    ("one_head", {"step": 0}, "A GPU runs them side by side. Here, program 0 goes first."),
    ("one_head", {"step": 2}, "Query 0 arrives, [1, 0], and stays"),
    ("one_head", {"step": 4}, "Key 0 starts at 0 × 2 = 0. It arrives."),
    ("one_head", {"step": 5}, "goes to place 0 (not divided by √d)"),
    ("one_head", {"step": 6}, "1 · 0 + 0 · 1 = 0 goes to place 1"),
    ("one_head", {"step": 7}, "goes to place 2. Place 3 stays −∞"),
    ("one_head", {"step": 14}, "The output is [6.33, 3.67]"),
    ("one_head", {"step": 15}, "[6.33, 3.67] goes out to memory"),
    ("one_head", {"step": 16}, "But program 1 fetched every key and value again"),
    ("one_head", {"step": 17}, "[3.67, 6.33] is the last row. Each query was loaded once, each key and value 3 times"),
    ("one_head", {"wrong": "true", "step": 4}, "since 0 × 2 is 0, too"),
    ("one_head", {"wrong": "true", "step": 5}, "What will be read for key 1?"),
    ("one_head", {"wrong": "true", "step": 6}, "Key 1 should be [0, 1]. We read [0, 0], across two keys: from number 1 on, not"),
    ("one_head", {"wrong": "true", "step": 8}, "Key 2 should be [1, 1]. We read [0, 1], which is key 1: from number 2 on, not"),
    ("one_head", {"wrong": "true", "step": 7}, "= 0 goes to place 1. Key 1 itself would give 0, too."),
    ("one_head", {"wrong": "true", "step": 9}, "= 0 goes to place 2. Key 2 itself would give 1."),
    ("one_head", {"wrong": "true", "step": 17}, "it should be [6.33, 3.67]. And nothing crashed"),
    ("one_head", {"wrong": "true", "step": 18}, "writes [6.33, 3.67] instead of [5, 5]"),
    ("one_head", {"wrong": "true", "step": 19}, "nobody ever read its last key"),
    ("where_time_goes", {}, "Both compute the same attention. Drag into the bar: that’s your guess."),
    ("where_time_goes", {"guess": 40}, "40 ms of 64? Let’s see."),
    ("where_time_goes", {"shown": "true"}, "At best, moving bytes takes 8 ms of 64, and multiplying 1, at the same time. What else?"),
    ("busy_units", {}, "Tap the one that you think is the fullest."),
    ("busy_units", {"guess": "path"}, "Yes: it’s the data path, busy for 87 % of the time. Drag to one warp: is it still?"),
    ("busy_units", {"guess": "lsu"}, "Nearly: it’s the data path, busy for 87 % of the time."),
    ("busy_units", {"guess": "alu"}, "No: it’s the data path, busy for 87 % of the time."),
    ("busy_units", {"warps": 2}, "With 2 warps, the fullest: the schedulers, 77 % busy. A pair takes 78 clocks; with four it’s 124."),
    ("ablation", {}, "A pair takes 124 clocks. How many without the passes? Guess, then run."),
    ("ablation", {"step": 1}, "124: nothing’s won, because the sums take as long as before. And without the sums?"),
    ("ablation", {"step": 2}, "67: now the passes are the longest, and we see them. And without both?"),
    ("ablation", {"step": 3}, "20: loads and loops are left. So the sums are the rice, and the passes the sauce."),
    ("merge", {}, "Only the first shrinks, by e−1. Together: 3.006"),
    ("merge", {"cut": 3}, "neither shrinks. Together: 3.006"),
    ("merge", {"cut": 0}, "The first read nothing: maximum −∞, sum 0"),
    ("hopper_ring", {}, "empty of place 0 ends phase 0. The producer waited"),
    ("hopper_ring", {"bug": "producer"}, "Deadlock at clock 0"),
    ("hopper_ring", {"bug": "consumers", "step": 0}, "is still empty"),
    ("hopper_ring", {"bug": "greedy", "step": 0}, "asks for all 6 uses"),
    ("roofline", {"time": "57.7"}, "reached 71.6 %"),
    ("roofline", {"kernel": "softmax"}, "doesn’t use the tensor cores"),
    ("attention_row", {"scores": "1 1 1"}, "All scores of word 1 are equal"),
    ("attention_row", {"columns": "true"}, "hands out 84.7 %"),
    ("online_softmax", {}, "You see each pair once"),
    ("online_softmax", {"step": 2}, "The line rose by 1, so the old sum shrank to 0.503"),
    ("online_softmax", {"step": 4}, "All six at once give 3.006, too"),
    ("online_softmax", {"step": 4, "forget": "true"}, "got 3.871. All six at once give 3.006"),
    ("online_softmax", {"step": 1, "scores": "-inf -inf 2"}, "−∞ − (−∞) is NaN"),
    ("tile", {"size": 6, "step": 99}, "3 times, 216 fetches for 432 FLOP"),
    ("hbm_trips", {"form": "fused", "step": 2}, "never written"),
    ("hbm_trips", {"form": "textbook", "step": 99, "words": 16384}, "= 128 times"),
    ("sentence", {"word": 1, "causal": "true"}, "sees only itself"),
    ("sentence", {"times": 0}, "everything it sees alike: 17 %"),
]  # fmt: skip

REFUSED = [
    ("streem", {}, r"no docs/live/streem\.js"),
    ("online_softmax", {"blok": 2}, "There is no blok"),
    ("online_softmax", {"block": "two"}, "“two” is no number"),
    ("online_softmax", {"block": 2.5}, "Scores a block"),
    ("online_softmax", {"scores": "1"}, "2 to 8"),
    ("calculator", {"context": 1000.5}, "Context"),
    ("calculator", {"model": "own", "own": "32 32 7 128 8"}, "7 heads of keys"),
    ("strides", {"view": "3 5"}, "15 numbers, and there are 12"),
    ("decode", {"query": "1"}, "1 number; 2 are wanted"),
    ("dot", {"q": "2 1", "k": "1 2 3"}, "must match"),
    ("flash", {"values": "1 2, 3"}, "each row has two"),
    ("accumulator", {"scores": "1 2 3"}, "6 are wanted"),
    ("ablation", {"guesses": "0 151 0"}, "Guesses: 151 is outside 0 to 150"),
    ("where_time_goes", {"guess": 65}, "Guess: 65; a whole number from 0 to 64"),
    ("busy_units", {"guess": "tma"}, "Guess: there is no “tma”"),
    ("busy_units", {"warps": 3}, "there is no “3”; there is 1, 2, 4, 8"),
    ("busy_units", {"clocks": "1 2 3"}, "Clocks: 3 numbers; 4 are wanted"),
    ("merge", {"cut": 7}, "The cut"),
    ("overflow", {"scores": "1 2 3 4 5"}, "1 to 4"),
    ("roofline", {"kernel": "own", "flops": 0}, "GFLOP: 0 is outside"),
    ("attention_row", {"keys": "1 0; 0 one; 1 1"}, "“one” is no number"),
    ("hbm_trips", {"dim": 0}, "d: "),
    ("sentence", {"word": 7}, "the sentence has 6"),
]


def sentence_of(pieces, name: str, state: dict) -> str:
    still = pieces.draw_state(name, {key: str(value) for key, value in state.items()})
    return re.sub(r"\s+", " ", BeautifulSoup(still, "html.parser").select_one(".hb-live__says").text)


@pytest.mark.parametrize("name, state, words", SENTENCES, ids=lambda each: str(each)[:40])
def test_a_piece_says_it(pieces, name, state, words):
    assert words in sentence_of(pieces, name, state)


@pytest.mark.parametrize("name, state, words", REFUSED, ids=lambda each: str(each)[:40])
def test_a_piece_refuses_it(pieces, name, state, words):
    with pytest.raises(PieceError, match=words):
        sentence_of(pieces, name, state)


@pytest.mark.parametrize(("step", "words"), [("99", "give 3.006, too"), ("-3", "once"), ("1.5", "0.503")])
def test_a_page_that_asks_for_a_step_gets_one_that_the_piece_has(pieces, step, words):
    assert words in sentence_of(pieces, "online_softmax", {"step": step})
