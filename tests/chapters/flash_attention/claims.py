"""What chapter 8 and its sheet claim in words."""

import ast

import torch

from kernels.bench import hardware
from kernels.bench.cost import attention_flops, mb, mib, qkvo_bytes, requested_bytes
from kernels.flash.tiles import tiles
from scripts import records
from tests.claims.compiled import elsewhere
from tests.claims.rows import chip_of, close, rounded, row, rows

N, D, BYTES, BLOCK_Q = 8192, 128, 2, 64
HEAD_DIMS = (64, 128, 256)
SDPA = ("sdpa_flash", "sdpa_cudnn", "sdpa_efficient", "sdpa_math")
ASKED = requested_bytes(N, D, BYTES, BLOCK_Q)
ALL_ASKED = requested_bytes(N, D, BYTES, BLOCK_Q, 16, 2)  # by the 32 heads of the ladder
LEVEL = 0.005  # nearer to 1 than this, a ratio is none
H100_RUN = {  # (form, N) -> milliseconds forward, full, d = 128: prefill_speed on an H100 80GB HBM3, 21 November 2026
    ("one_key_attention", 512): 63.91,
    ("key_blocks_attention", 512): 24.55,
    ("attention", N): 14.44,
    ("three_kernel_attention", N): 18.64,
    **{
        ("flash_attention", 512 * 2**doubled): took
        for doubled, took in enumerate((0.1784, 0.2793, 0.5117, 0.9712, 1.921, 3.67))
    },
    ("sdpa_flash", N): 3.26,
    ("sdpa_cudnn", N): 1.73,
    ("sdpa_efficient", N): 6.35,
    ("sdpa_math", N): 49.1,
}


def _speeds(direction, head_dim, causal=False):
    """(form, N) -> the row of the record."""
    found = rows("prefill_speed", f"{direction}_{head_dim}", causal=causal)
    return {(row["form"], row["n"]): row for row in found}


def _ratios(of, to, direction, head_dim, causal=False):
    """N -> how many times as long ``of`` takes as ``to``."""
    found = _speeds(direction, head_dim, causal)
    lengths = [n for form, n in found if form == of and (to, n) in found]
    return {n: found[of, n]["median"] / found[to, n]["median"] for n in lengths}


def _settings(direction, form):
    """(head_dim, causal, N) -> the row of one form, over all settings of the ladder."""
    every = [(d, causal) for d in HEAD_DIMS for causal in (False, True)]
    return {
        (d, causal, n): row
        for d, causal in every
        for (name, n), row in _speeds(direction, d, causal).items()
        if name == form
    }


def _causal_takes_of_full(n):
    full, causal = (_speeds("forward", D, causal)["flash_attention", n]["median"] for causal in (False, True))
    return causal / full


def skipping_saves_about_half_of_a_long_text():
    """At d = 128 and from N = 8192 on causal takes between 0.45 and 0.57 of the time of full.

    In words: half, long, half.
    """
    assert all(0.45 < _causal_takes_of_full(n) < 0.57 for n in (8192, 16384))


def skipping_saves_less_of_a_short_text():
    """At d = 128 and N = 512 and 1024 causal takes between 0.6 and 0.8 of the time of full. In words: short, less."""
    assert all(0.6 < _causal_takes_of_full(n) < 0.8 for n in (512, 1024))


def causal_is_dearer_in_three_lines():
    """The three lines take longer causal than full in every setting of the ladder.

    In words: causal, dearer; causal, dearer, full.
    """
    found = _settings("forward", "attention")
    assert all(found[d, True, n]["median"] > row["median"] for (d, causal, n), row in found.items() if not causal)


def six_megabytes_come_through(megabytes):
    """HBM moves 6 MB of what FlashAttention asks for at N = 8192, with flushed caches. In words: hbm."""
    assert rounded(row("hbm_traffic", "whole", form="flash_attention")["flushed"], megabytes) == megabytes


def inputs_are_read_once():
    """What the counters see is the size of Q, K and V, to 2 %. In words: read."""
    whole = row("hbm_traffic", "whole", form="flash_attention")
    assert close(whole["requested"], mb(ASKED), 1e-6) and close(whole["flushed"], mb(3 * N * D * BYTES), 0.02)


def _seconds():
    """How long the ladder's 32 heads take at N = 8192."""
    return 1e-3 * _speeds("forward", D)["flash_attention", N]["median"]


def more_is_asked_than_hbm_gives():
    """At N = 8192 the bytes asked for a second are 1.5 to 2 times HBM's bandwidth. In words: more, half."""
    assert 1.5 < ALL_ASKED / _seconds() / chip_of("prefill_speed", "hbm bandwidth") < 2


def more_is_asked_than_l2_gave():
    """At N = 8192 the bytes asked for a second are 1 to 1.25 times what was read of 16 MiB from L2.

    In words: more, l2.
    """
    assert 1 < ALL_ASKED / _seconds() / (1e12 * row("l2_speed", "sizes", size=16)["speed"]) < 1.25


def _intensity_over_ridge(form):
    """How far right of the ridge a form lies, by the bytes counted."""
    counted = row("hbm_traffic", "whole", form=form)
    ridge = chip_of("hbm_traffic", "bf16 peak") / chip_of("hbm_traffic", "hbm bandwidth")
    return attention_flops(counted["n"], D) / (1e6 * counted["flushed"]) / ridge


def flash_lies_far_right():
    """FlashAttention does more than 10 times the ridge's FLOP for each byte counted.

    In words: flashattention, far, right.
    """
    assert _intensity_over_ridge("flash_attention") > 10


def slow_rungs_lie_right_too():
    """One key and key blocks do 3 to 3.5 times the ridge's FLOP for each byte counted."""
    assert all(3 < _intensity_over_ridge(form) < 3.5 for form in ("one_key_attention", "key_blocks_attention"))


def three_lines_speed_up_at_16384():
    """At N = 16384 the three lines are more than 1.3 times as fast as at N = 8192, at d = 128 and d = 256.

    In words: faster.
    """
    for head_dim in (128, 256):
        found = _speeds("forward", head_dim)
        assert found["attention", 16384]["speed"] > 1.3 * found["attention", 8192]["speed"]


def long_rows_have_another_softmax():
    """PyTorch's softmax of rows of 16384 is another kernel than that of 8192 and takes 0.45 to 0.55 of its time.

    In words: half; half, many.
    """
    short, long = (row("roofline", "softmax", row=n) for n in (8192, 16384))
    assert short["kernel"] != long["kernel"] and 0.45 < long["time"] / short["time"] < 0.55


def _lead_over_the_three_lines(head_dim, least, most):
    full = _ratios("attention", "flash_attention", "forward", head_dim)
    assert (rounded(min(full.values()), least), rounded(max(full.values()), most)) == (least, most)
    return set(full)


def lead_over_the_three_lines_at_128(least, most):
    """Forward and full our kernel is 3.3 to 6.1 times as fast as the three lines at d = 128, at all 6 N."""
    assert len(_lead_over_the_three_lines(128, least, most)) == 6


def lead_over_the_three_lines_at_64(least, most, n):
    """Forward and full our kernel is 4.8 to 9.8 times as fast as the three lines at d = 64, at the 5 N up to 8192."""
    lengths = _lead_over_the_three_lines(64, least, most)
    assert len(lengths) == 5 and max(lengths) == n


def lead_over_the_three_lines_at_256(least, most):
    """Forward and full our kernel is 1.7 to 3.2 times as fast as the three lines at d = 256, at all 6 N."""
    assert len(_lead_over_the_three_lines(256, least, most)) == 6


def lead_at_8192(times):
    """Forward and full, at d = 128 and N = 8192, our lead over the three lines is 6, to a tenth. In words: fast."""
    assert close(_ratios("attention", "flash_attention", "forward", 128)[N], float(times), 0.1)


def causal_it_is_far_more():
    """At every N and d our lead over the three lines is more than twice as large causal as full.

    In words: causal, far, more.
    """
    for head_dim in HEAD_DIMS:
        full, causal = (_ratios("attention", "flash_attention", "forward", head_dim, c) for c in (False, True))
        assert all(causal[n] > 2 * times for n, times in full.items())


def cudnn_is_the_fastest_backend():
    """In every setting of the ladder no backend of SDPA takes less time than cuDNN.

    In words: fastest; fastest, sdpa, every.
    """
    for direction in ("forward", "backward"):
        cudnn = _settings(direction, "sdpa_cudnn")
        for other in SDPA:
            for setting, found in _settings(direction, other).items():
                assert cudnn[setting]["median"] <= found["median"], (direction, other, setting)


def _other_runs():
    """(run, head_dim, causal, N) -> how fast our kernel was forward, over cuDNN, in two runs of chapter 9."""
    found = {}
    for head_dim in HEAD_DIMS:
        for key, run, name in (("form", "hopper_speed", "forward"), ("step", "hopper_steps", "steps")):
            for ours in rows(run, f"{name}_{head_dim}", **{key: "flash_attention"}):
                found[run, head_dim, ours["causal"], ours["n"]] = ours["ratio"]
    return found


def _every_run():
    own = _settings("forward", "flash_attention")
    return {("prefill_speed", *key): found["ratio"] for key, found in own.items()} | _other_runs()


def behind_cudnn_at_128_and_256():
    """Forward, at d = 128 and 256, our kernel reaches less than cuDNN's speed in all settings of three runs but 1.

    That is causal, at N = 16384 and d = 128: in at least one of them not below cuDNN's, to half a per cent.

    In words: behind, all; behind, every, only.
    """
    found = {key: ratio for key, ratio in _every_run().items() if key[1] in (128, 256)}
    assert len({run for run, *_ in found}) == 3
    assert {key[1:] for key, ratio in found.items() if ratio >= 1 - LEVEL} == {(128, True, 16384)}


def ahead_in_the_steps(ahead, level, behind):
    """There it is 3.4 % faster than cuDNN in hopper_steps, 0.1 % slower in hopper_speed, 3.0 % in prefill_speed.

    In words: ahead, behind, behind.
    """
    runs = ("hopper_steps", "hopper_speed", "prefill_speed")
    found = [100 * (_every_run()[run, 128, True, 16384] - 1) for run in runs]
    assert [rounded(each, ahead) for each in found] == [ahead, -level, -behind]


def forward_is_ahead_of_cudnn_at_64_alone():
    """Forward our kernel is ahead of cuDNN in prefill_speed causal at d = 64 alone, from N = 8192 on, at least once.

    It is behind in more than 0.75 of all.

    In words: behind, cudnn, most, ahead, only, causal, more.
    """
    found = _settings("forward", "flash_attention")
    ahead = {key for key, row in found.items() if row["ratio"] > 1 + LEVEL}
    assert ahead and ahead <= {(64, True, 8192), (64, True, 16384)}
    assert sum(row["ratio"] < 1 - LEVEL for row in found.values()) > len(found) * 3 / 4


def a_fifth_of_cudnns_calls(percent):
    """Causal, at d = 128 and N = 16384, cuDNN's p20 lies 12 % below its median, and ours less than 1 %.

    In words: fifth, cudnn, faster, more.
    """
    found = {form: _speeds("forward", D, True)[form, 16384] for form in ("sdpa_cudnn", "flash_attention")}
    below = {form: 100 * (1 - row["p20"] / row["median"]) for form, row in found.items()}
    assert rounded(below["sdpa_cudnn"], percent) == percent and below["flash_attention"] < 1


def now_ahead_now_behind_at_64(least, most):
    """At d = 64 and from N = 8192 on our kernel reaches 0.94 to 1.07 of cuDNN's speed in three runs, and below that
    it is in none of them ahead by half a per cent.
    """
    found = {key: ratio for key, ratio in _every_run().items() if key[1] == 64}
    long = {key: ratio for key, ratio in found.items() if key[3] >= 8192}
    assert {run for run, *_ in long} == {"prefill_speed", "hopper_speed", "hopper_steps"}
    assert (rounded(min(long.values()), least), rounded(max(long.values()), most)) == (least, most)
    assert min(long.values()) < 1 - LEVEL and max(long.values()) > 1 + LEVEL
    assert all(ratio < 1 + LEVEL for key, ratio in found.items() if key not in long)


def in_other_runs_at_64(n, *ratios):
    """At d = 64 and N = 16384: in full 1.018 in the steps and 0.979 in the speeds, causal 1.045 and 0.972.

    In words: cudnn, full, causal.
    """
    found = {key: ratio for key, ratio in _other_runs().items() if key[1] == 64 and key[3] == n}
    runs = ("hopper_steps", "hopper_speed")
    full, causal = ([found[run, 64, is_causal, n] for run in runs] for is_causal in (False, True))
    assert len(found) == 4
    assert [rounded(ratio, like) for ratio, like in zip(full + causal, ratios, strict=True)] == list(ratios)


def ahead_beside_cudnn(settings_ahead, settings, n, small, full, causal, large, causal_at_128, short, same, least):
    """As graphs forward, beside cuDNN, our kernel is ahead in 4 of 18 settings: with N = 16384 at d = 64 by 2.1 % in
    full and 5.3 % causal, at d = 128 by 3.0 % causal, and with N = 4096 at d = 64 by 0.6 % causal.

    In words: ahead, only, full, causal, causal, causal.
    """
    found = rows("beside_cudnn", "forward", form="flash_attention")
    ahead = {(row["head_dim"], row["causal"], row["n"]): row["ratio"] for row in found if row["low"] > 1}
    wanted = {(small, False, n): full, (small, True, n): causal, (large, True, n): causal_at_128}
    wanted |= {(same, True, short): least}
    assert (len(ahead), len(found)) == (settings_ahead, settings) and ahead.keys() == wanted.keys()
    assert {key: rounded(100 * (ahead[key] - 1), like) for key, like in wanted.items()} == wanted


def full_and_causal_in_this_run(full, causal):
    """At d = 64 and N = 16384 prefill_speed has a ratio of 0.940 in full and 0.946 causal. In words: full, causal."""
    found = _settings("forward", "flash_attention")
    ratios = [found[64, is_causal, 16384]["ratio"] for is_causal in (False, True)]
    assert [rounded(ratio, like) for ratio, like in zip(ratios, (full, causal), strict=True)] == [full, causal]


def reached_of_the_limit(lines, flash):
    """What part of the limit, which is arithmetic, the three lines and our kernel reach at d = 128 and N = 8192."""
    arithmetic = 1e3 * attention_flops(N, D, 16, 2) / chip_of("prefill_speed", "bf16 peak")
    assert arithmetic > 1e3 * qkvo_bytes(N, D, BYTES, 16, 2) / chip_of("prefill_speed", "hbm bandwidth")
    for form, percent in (("attention", lines), ("flash_attention", flash)):
        assert rounded(100 * arithmetic / _speeds("forward", D)[form, N]["median"], percent) == percent


# The same run on an H100, whose SMs are those of the H200, with a memory of 3.35 TB/s.


def _gained(typed, *forms):
    """Each took so many times as long on the H100."""
    gains = [H100_RUN[form, n] / _speeds("forward", D)[form, n]["median"] for form, n in forms]
    assert [rounded(gain, like) for gain, like in zip(gains, typed, strict=True)] == list(typed)


def slow_rungs_gained(times):
    """At N = 512 one key and key blocks are 1.00 times as fast as on the H100. In words: fast."""
    _gained((times, times), ("one_key_attention", 512), ("key_blocks_attention", 512))


def fused_forms_gained(*times):
    """At N = 8192 flash is 0.99, memory-efficient 0.98 and cuDNN 0.95 times as fast as on the H100.

    In words: sdpa, memory-efficient, cudnn, fast.
    """
    _gained(times, *((form, N) for form in ("sdpa_flash", "sdpa_efficient", "sdpa_cudnn")))


def ours_gained(least, most):
    """Over the 6 lengths our kernel is 0.85 to 1.07 times as fast as on the H100. In words: fast."""
    ours = _speeds("forward", D)
    gains = [took / ours[form, n]["median"] for (form, n), took in H100_RUN.items() if form == "flash_attention"]
    assert len(gains) == 6 and (rounded(min(gains), least), rounded(max(gains), most)) == (least, most)


def forms_with_a_square_gained(*times):
    """At N = 8192 math 1.07, the three lines 1.17, three kernels 1.24 times as fast as on the H100.

    In words: fast.
    """
    _gained(times, *((form, N) for form in ("sdpa_math", "attention", "three_kernel_attention")))


def the_three_lines_gained(milliseconds):
    """At N = 8192 the three lines take 2.07 ms less than on the H100. In words: less."""
    gained = H100_RUN["attention", N] - _speeds("forward", D)["attention", N]["median"]
    assert rounded(gained, milliseconds) == milliseconds


def the_lead_shrank(before, now):
    """At N = 8192 our lead over the three lines was 7.5 on the H100, and is 6.1. In words: -."""
    was = H100_RUN["attention", N] / H100_RUN["flash_attention", N]
    found = was, _ratios("attention", "flash_attention", "forward", D)[N]
    assert tuple(rounded(each, like) for each, like in zip(found, (before, now), strict=True)) == (before, now)


def the_lead_with_our_time_unchanged(lead):
    """At N = 8192 the three lines take 6.4 times what our kernel took on the H100. In words: -."""
    lines = _speeds("forward", D)["attention", N]["median"]
    assert rounded(lines / H100_RUN["flash_attention", N], lead) == lead


def ours_gained_at_8192(times):
    """At N = 8192 our kernel is 0.94 times as fast as on the H100. In words: fast."""
    _gained((times,), ("flash_attention", N))


def forward_is_faster_than_flash():
    """Forward our kernel takes less time than SDPA's flash backend in every setting. In words: faster, every, sdpa."""
    for head_dim in HEAD_DIMS:
        for causal in (False, True):
            times = _ratios("sdpa_flash", "flash_attention", "forward", head_dim, causal)
            assert times and all(ratio > 1 for ratio in times.values())


def backward_is_ahead_in_a_few_short_settings():
    """Backward our kernel is ahead of cuDNN at N up to 2048 alone, in less than half the settings, never at d = 256.

    In words: ahead, cudnn, few, short, none, behind.
    """
    found = _settings("backward", "flash_attention")
    ahead = [(d, n) for (d, causal, n), row in found.items() if row["ratio"] > 1]
    assert 0 < len(ahead) < len(found) / 2 and all(d != 256 and n <= 2048 for d, n in ahead)


def backward_is_worst_at_256():
    """Backward and full our least share of cuDNN's speed is at d = 256. In words: worst."""
    found = {key: row["ratio"] for key, row in _settings("backward", "flash_attention").items() if not key[1]}
    assert min(found, key=found.get)[0] == 256


def three_lines_win_backward_at_256():
    """Backward and full the three lines take less time than our kernel at d = 256, at every N; causal, more.

    In words: full, slower, every.
    """
    assert all(times < 1 for times in _ratios("attention", "flash_attention", "backward", 256).values())
    assert all(times > 1 for times in _ratios("attention", "flash_attention", "backward", 256, True).values())


def flash_wins_backward_at_256():
    """Backward and full at d = 256 SDPA's flash takes less time than our kernel from N = 1024 on, and not below.

    In words: slower, flashattention-2.
    """
    found = _ratios("sdpa_flash", "flash_attention", "backward", 256)
    assert found and all((times < 1) == (n >= 1024) for n, times in found.items())


def exponents_are_multiply_adds():
    """Compiled for Hopper in BF16, at d = 64, 128, 256, exp2 is taken of one multiply-add for every score of a thread.

    In each of the two loops over keys; besides, of one subtraction for each of its rows, which is the rescale factor.

    In words: every.
    """
    found = ast.literal_eval(elsewhere(f"[exponents(head_dim) for head_dim in {HEAD_DIMS}]"))
    for head_dim, made_by in zip(HEAD_DIMS, found, strict=True):
        tile = tiles("forward", head_dim, torch.bfloat16)
        scores = tile.block_q * tile.block_k // (32 * tile.launch["num_warps"])
        assert made_by == {"fma.rn.f32": 2 * scores, "sub.f32": 2 * 2}


def math_takes_many_times_as_long(least, most):
    """Forward SDPA's math takes 19 to 66 times as long as cuDNN over the settings of the ladder, run on an H200.

    In words: math, long, cudnn.
    """
    assert chip_of("prefill_speed", "hbm bandwidth") == hardware.H200["hbm bandwidth"].value
    times = [1 / found["ratio"] for found in _settings("forward", "sdpa_math").values()]
    assert (rounded(min(times), least), rounded(max(times), most)) == (least, most)


def math_takes_in_the_cases(least, most):
    """In the cases of sdpa_backends that both can do math takes 4.8 to 30 times as long as cuDNN, on an H100."""
    assert chip_of("sdpa_backends", "hbm bandwidth") == hardware.H100["hbm bandwidth"].value
    cases = [found for found in rows("sdpa_backends", "chosen") if found["sdpa_math"] and found["sdpa_cudnn"]]
    times = [found["sdpa_math"] / found["sdpa_cudnn"] for found in cases]
    assert (rounded(min(times), least), rounded(max(times), most)) == (least, most)


def training_takes_two_thirds():
    """In training, from N = 8192 on, our kernel's peak memory is two thirds of each fused backend's to 0.01, and no
    form takes less at any N.

    In words: least, all, thirds.
    """
    found = [row for row in rows("prefill_memory", "training") if row["peak"] is not None]
    peaks = {(row["form"], row["n"]): row["peak"] for row in found}
    ours = {n: peak for (form, n), peak in peaks.items() if form == "flash_attention"}
    long = {n: peak for n, peak in ours.items() if n >= 8192}
    fused = ("sdpa_flash", "sdpa_cudnn", "sdpa_efficient")
    assert len(long) >= 3
    assert all(abs(peak / peaks[form, n] - 2 / 3) < 0.01 for n, peak in long.items() for form in fused)
    assert all(peak >= ours[n] for (_, n), peak in peaks.items())


def the_rest_is_one_dq():
    """What cuDNN takes more than our kernel in training is an FP32 tensor of the size of dQ to 2 %, from N = 8192.

    In words: more, large, fp32.
    """
    ours = {row["n"]: row["peak"] for row in rows("prefill_memory", "training", form="flash_attention")}
    for found in rows("prefill_memory", "training", form="sdpa_cudnn"):
        if found["n"] >= 8192:
            assert close(found["peak"] - ours[found["n"]], mib(found["n"] * D * 4), 0.02)


def two_backends_keep_no_lse():
    """Forward two backends, cuDNN and memory-efficient, hold the output alone, to 0.2 %, from N = 4096 on.

    In words: not.
    """
    for form in ("sdpa_cudnn", "sdpa_efficient"):
        for found in rows("prefill_memory", "forward", form=form):
            assert found["n"] < 4096 or close(found["peak"], mib(found["n"] * D * BYTES), 0.002)


def flash_takes_more_at_small_n():
    """SDPA's flash takes more than twice the output and one number a row up to N = 8192, and less beyond.

    In words: small, sdpa, more.
    """
    for found in rows("prefill_memory", "forward", form="sdpa_flash"):
        assert (found["peak"] > 2 * found["expected"]) == (found["n"] <= 8192)


def all_are_within_the_budget():
    """The output and the three gradients, full and causal, are eight verdicts, all within the budget.

    In words: all, every.
    """
    errors = rows("flash_attention", "errors")
    tensors = ("out", "dq", "dk", "dv")
    assert {(row["causal"], row["tensor"]) for row in errors} == {(c, t) for c in (False, True) for t in tensors}
    assert len(errors) == 8 and all(row["verdict"] == "within the budget" for row in errors)


def sixteen_keys_are_missed(keys):
    """The call without the last 16 keys was rejected. In words: last."""
    assert f"without the last {keys} keys: REJECTED" in str(records.read("flash_attention").outputs["correct"])


def no_error_is_above_three_lines():
    """In each of the eight tensors our largest error is at most that of the three lines.

    In words: no, largest, above.
    """
    assert all(row["flash"] <= row["three_lines"] for row in rows("flash_attention", "errors"))


def _backend(name):
    """What the profiler saw when a backend was asked for."""
    return row("sdpa_backends", "asked", backend=name)


def names_give_backends_away():
    """The last kernel's name has pytorch_flash, cudnn and fmha_cutlass in it for the three fused backends."""
    parts = {"sdpa_flash": "pytorch_flash", "sdpa_cudnn": "cudnn", "sdpa_efficient": "fmha_cutlass"}
    assert all(part in _backend(name)["last"] for name, part in parts.items())


def math_is_a_crowd_of_kernels():
    """Math launches more than 10 kernels. In words: small, math."""
    assert _backend("sdpa_math")["launched"] > 10


def cudnns_name_has_flash_in_it():
    """The name of cuDNN's kernel has "flash" in it. In words: cudnn."""
    assert "flash" in _backend("sdpa_cudnn")["last"]


def _refused():
    """(case, backend) of each refusal."""
    return {(row["case"], row["backend"]) for row in rows("sdpa_backends", "refused")}


def flash_and_cudnn_refuse():
    """Flash and cuDNN refuse FP32 and heads of 512, and take heads of 256 in the ladder.

    In words: cudnn, neither, fp32, above.
    """
    wanted = {(case, name) for case in ("FP32", "d = 512") for name in ("sdpa_flash", "sdpa_cudnn")}
    assert wanted <= _refused()
    assert all(("sdpa_flash", n) in _speeds("forward", 256) for n in (1024, 4096))


def flash_takes_no_mask():
    """Flash refuses a mask, and causal with fewer queries than keys; causal with as many it takes.

    In words: no, causal, only, many.
    """
    assert {("a mask", "sdpa_flash"), ("512 queries, causal", "sdpa_flash")} <= _refused()
    assert ("causal", "sdpa_flash") not in _refused()


def _case(name):
    """The times of each backend in one case."""
    return row("sdpa_backends", "chosen", case=name)


def a_mask_doubles_cudnns_time():
    """cuDNN takes a mask and then 1.9 to 2.1 times the time. In words: cudnn, twice."""
    assert ("a mask", "sdpa_cudnn") not in _refused()
    assert 1.9 < _case("a mask")["sdpa_cudnn"] / _case("plain")["sdpa_cudnn"] < 2.1


def efficient_is_the_one_for_fp32():
    """In FP32 memory-efficient runs, flash and cuDNN refuse; it refuses 4 heads of K and V for 16 of queries.

    In words: memory-efficient, fp32.
    """
    assert _case("FP32")["sdpa_efficient"] and not _case("FP32")["sdpa_flash"] and not _case("FP32")["sdpa_cudnn"]
    assert ("4 heads of K and V", "sdpa_efficient") in _refused()


def mask_and_causal_together():
    """A mask together with is_causal is refused by math, and not by two others, cuDNN and memory-efficient.

    In words: math, cudnn, memory-efficient; math, no, all, cudnn, memory-efficient.
    """
    backends = {name for name in SDPA if ("a mask, and is_causal", name) in _refused()}
    assert backends == {"sdpa_math", "sdpa_flash"}
    assert _case("a mask, and is_causal")["sdpa_cudnn"] and _case("a mask, and is_causal")["sdpa_efficient"]


def the_fastest_was_chosen(*cases):
    """In 9 cases of 9 PyTorch took cuDNN where it could, else memory-efficient, and none that could was faster.

    In words: cudnn, cudnn, memory-efficient, all, fastest; fastest.
    """
    chosen = rows("sdpa_backends", "chosen")
    assert {len(chosen)} == set(cases)
    for found in chosen:
        able = [name for name in ("sdpa_cudnn", "sdpa_efficient") if (found["case"], name) not in _refused()]
        times = {name: found[name] for name in SDPA if found[name] is not None}
        assert set(SDPA) - set(times) == {name for case, name in _refused() if case == found["case"]}
        assert found["chosen"] == able[0] == min(times, key=times.get)
