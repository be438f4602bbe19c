// What the oracle checks ask of more than one function of a model at once; `m` is the module.
const calls = {
  "online_softmax: sums": (m) => (scores, block) => m.readInBlocks(scores, block).steps.slice(1).map(({ max, sum }) => [max, sum]),
  "online_softmax: instants": (m) => (scores, block) => {
    const run = m.readInBlocks(scores, block);
    return run.steps.slice(1).map((_, i) => {
      const [from, to, { line, shrink, drops }] = [m.frame(run, i + 1, 0), m.frame(run, i + 1), m.schedule(run, i + 1)];
      const waits = (shrink === line || shrink[0] >= line[1]) && drops.every(([start]) => start >= shrink[1]);
      return [from.sum, to.sum, to.max, waits];
    });
  },
  "online_softmax: output": (m) => (scores, values, block) => {
    let state = m.empty(2);
    for (let i = 0; i < scores.length; i += block) state = m.update(state, scores.slice(i, i + block), values.slice(i, i + block));
    return m.output(state);
  },
  "accumulator: columns": (m) => (scores, values, forget) => {
    const run = modules["online_softmax.model.js"].readInBlocks(scores, 2, forget, values);
    const heights = (k, t) => m.columns(run, k, t).columns.map(({ height }) => height);
    return [...run.steps.slice(1).map((_, i) => [heights(i + 1, 0), heights(i + 1)]), heights(m.last(run))];
  },
  "merge: shared": (m) => (scores, cut) => {
    const { readers, parts, max, sum } = m.mergeReaders(scores, cut);
    return [...readers.map((reader) => [reader.max, reader.sum]), parts, max, sum];
  },
  "attention_row: causal": (m) => (q, k) => m.causal(m.products(q, k)).map(m.softmax),
  "dot: measured": (m) => (q, k) => {
    const { sum, lengths, angle, along } = m.measure(q, k);
    return [sum, ...lengths, Math.cos((angle * Math.PI) / 180), along];
  },
  "dot: turned and back": (m) => (q, k, angle) => [...m.turnTo(q, k, angle), m.turn(q, m.turnTo(q, k, angle))],
  "overflow: shares": (m) => (type, scores, safe) => m.softmaxIn(type, scores, safe).shares,
  "flash: output and gradients": (m) => (problem) => {
    const [{ dq }, { dk, dv }] = ["dq", "dkdv"].map((pass) => m.backward(pass, problem, 99));
    const scaled = (rows) => rows.map((row) => row.map((x) => problem.scale * x));
    return [m.forward(problem, 99).map(({ accumulator, sum }) => accumulator.map((x) => x / sum)), scaled(dq), scaled(dk), dv];
  },
  "decode: owners": (m) => (lengths, block, programs) =>
    m.shares(lengths, block, programs).flatMap(({ program, sequence, begin, count, whole }) => Array.from({ length: count }, (_, i) => [program, sequence, begin + i, whole])),
  "decode: row": (m) => (keys, values, query, scale, block, cuts, topLeft) => {
    const part = (stop, i) => m.partOf(keys, values, query, scale, block, cuts[i], stop - cuts[i], topLeft);
    return calls["decode: merged"](m)(cuts.slice(1).map(part));
  },
  "decode: merged": (m) => (parts) => [m.merge(parts).output, m.merge(parts).lse],
  "cost: all": (m) => (s) => [m.squareBytes(s), m.rowBytes(s), m.qkvoBytes(s), m.eagerPeakBytes(s), m.fusedPeakBytes(s), m.attentionFlops(s), m.attentionFlops(s, true)],
  "units: printed": (m) => (how, value) => m[how](value, "B"),
  "balloon: held": (m) => (shape, memory) => [m.STEPS.map((_, step) => m.bytesHeld(shape, step)), m.last(shape, memory)],
  "hbm_trips: by kernel": (m) => (form, shape) => {
    const all = m.trips(form, shape);
    const bytes = (kernel, up) => all.filter((trip) => trip.kernel === kernel && trip.up === up).reduce((sum, trip) => sum + trip.bytes, 0);
    const kernels = [...new Set(all.map(({ kernel }) => kernel))].map((kernel) => [kernel, bytes(kernel, true), bytes(kernel, false)]);
    return [kernels, all.filter(({ square }) => square).length, m.moved(all, 99, true)];
  },
  "roofline: examples": (m) => () => Object.entries(m.examples()).map(([name, { flops, moved }]) => [name, flops / 1e9, moved / 1e6]),
  "calculator: work": (m) => (model, n, batch, format) => [m.tokenBytes(model, format), m.prefill(model, n, batch), m.decode(model, n, batch, format)],
  "calculator: memory": (m) => (model, n, batch, format, gpus) => m.memory(model, n, batch, format, "H100", gpus),
  "calculator: limit": (m) => (flops, bytes, chips) => {
    const { arithmetic, memory } = m.limits({ flops, bytes }, "H100", chips);
    return Math.max(arithmetic, memory);
  },
  "calculator: ring": (m) => (model, tokens, batch, format, gpus) => {
    const { sent, computing, fetching, hidden } = m.ring(model, tokens * gpus, batch, "H100", gpus);
    return [sent, computing / fetching, hidden];
  },
  "bits: read": (m) => (name, code) => {
    const [value, ...beside] = calls["bits: around"](m)(name, code);
    return [value, m.fields(m.FORMATS[name], code), ...(Number.isFinite(value) ? beside : [null, null])];
  },
  "bits: around": (m) => (name, code) => {
    const value = (one) => (one === null ? null : m.decode(m.FORMATS[name], one));
    return [value(code), ...[-1, 1].map((way) => value(m.beside(m.FORMATS[name], code, way)))];
  },
  "bits: stored": (m) => (name, number) => {
    const code = m.encode(m.FORMATS[name], number);
    return [code, ...calls["bits: around"](m)(name, code)];
  },
  "bits: encoded": (m) => (name, number) => m.encode(m.FORMATS[name], number),
  "quantized_block: quantized": (m) => (name, row, given) => {
    const { tensor, blocks } = m.quantize(m.SCHEMES[name], row, given);
    const codes = m.pack(m.SCHEMES[name], blocks.flatMap(({ codes }) => codes));
    return [codes, blocks.flatMap(({ scale }) => scale ?? []), tensor, blocks.flatMap(({ decoded }) => decoded)];
  },
  "quantized_block: decoded": (m) => (name, row) => calls["quantized_block: quantized"](m)(name, row)[3],
  "one_head: words": (m) => () => m.WORDS,
  "one_head: clicks": (m) => (wrong) => {
    const steps = m.launch(m.WORDS, wrong);
    const [, ...ends] = m.stops(steps, wrong).map((i) => steps[i]);
    const lines = steps.filter(({ program }) => program === 0).flatMap(({ moments }) => moments.map(({ line }) => line));
    const all = m.run(m.WORDS, 0, wrong).map(({ line }) => line);
    return [m.WORDS.q.map((_, i) => ends.filter(({ program }) => program === i).length), lines.join() === all.join()];
  },
  "one_head: loads": (m) => (problem, wrong) => {
    const end = m.launch(problem, wrong).slice(-1)[0];
    return ["q", "k", "v"].map((name) => problem[name].map((row, i) => m.visitors(end, name, i, row.length).length));
  },
  "one_head: touched": (m) => (problem, wrong) =>
    m.launch(problem, wrong).slice(-1)[0].touched.map(({ tensor, places, numbers }) => [tensor, places, numbers]),
  "one_head: registers": (m) => (problem, program) => {
    const { scores, exponentials, weights, output } = m.run(problem, program, false).slice(-1)[0].held;
    return [scores, exponentials, weights, output];
  },
  "tile: all": (m) => (size, edge) => {
    const [all, { numbers, perByte }] = [m.tiles(size, edge), m.cost(size, edge)];
    const done = m.fetched(size, edge, all.length);
    const cell = (t, i) => (t.top + Math.floor(i / t.width)) * size + t.left + (i % t.width);
    const cells = new Set(all.flatMap((t) => Array.from({ length: t.height * t.width }, (_, i) => cell(t, i))));
    return [numbers, done.numbers, done.rows, done.columns, cells.size === size * size, perByte];
  },
  "strides: viewed": (m) => (shape, strides, view) => {
    const cells = m.walk(shape, strides);
    const why = m.uneven(cells, view);
    return [cells, m.strides(cells, view), why !== null && new Set(m.gaps(why.line)).size > 1 && why.line.every((cell) => cells.includes(cell))];
  },
  "strides: counted": (m) => (shape) => {
    const [own, last] = [m.contiguous(shape), shape.length - 1];
    const turned = m.walk(m.exchanged(shape, 0, last), m.exchanged(own, 0, last));
    return [own, m.exchanged(own, 0, last), m.inOrder(turned), m.slice(shape, last, shape[last] - 1)];
  },
  "hopper_ring: waits": (m) => (setting, worker, side) =>
    m.simulate(setting).moments.map(({ waits }) => waits[worker])
      .filter((wait) => wait && wait.side === side && wait.tensor === (side === "full" ? "K" : "V"))
      .filter((wait, i, all) => !i || wait.stage !== all[i - 1].stage || wait.bit !== all[i - 1].bit).map(({ stage, bit }) => [stage, bit]),
  "hopper_ring: ended": (m) => (setting) => {
    const { bars, hung } = m.simulate(setting);
    const wrong = bars.some((bar) => bar.wrong);
    const line = (kinds) => bars.filter(({ kind }) => kinds.includes(kind)).sort((a, b) => a.start - b.start || a.end - b.end);
    const alone = ["copy", "scores output", "softmax"].every((kinds) => line(kinds).every((bar, i, all) => !i || all[i - 1].end <= bar.start));
    return ["consumers", "greedy"].includes(setting.bug) ? wrong : [hung, wrong, bars.length, alone];
  },
  "hopper_ring: always busy": (m) => (setting) => m.tensorCoreShare(m.simulate(setting).bars) === 1,
};
