// How charts look.  scripts/chapters/plot.py says what is drawn and in which role; here that gets the page's type and colours,
// and words stand where they belong: a name at its line's end, a value at its bar's, a unit at the end of its axis.
globalThis.charts = (() => {
  "use strict";

  const [SIZE, LINE, NARROW, BESIDE] = [14, 18, 600, 120]; // pixels; BESIDE: the widest name that a phone has room for
  const EN = SIZE / 2; // about as wide as an en space
  const CLEAR = "rgba(0,0,0,0)";
  const GLYPHS = { circle: "●", square: "■", diamond: "◆", "triangle-up": "▲", x: "✕", cross: "✚", star: "★" };
  const HOLLOW = { circle: "○", square: "□", diamond: "◇", "triangle-up": "△" };
  const pen = document.createElement("canvas").getContext("2d");

  const own = (trace, colour) => colour[{ accent: "violet" }[trace.meta?.role] ?? trace.meta?.role];
  const legible = (trace, colour) => (["grey", "faint"].includes(trace.meta?.role) ? colour.soft : own(trace, colour) ?? colour.ink);
  const axesOf = (layout, letter) => Object.keys(layout).filter((key) => new RegExp(`^${letter}axis\\d*$`).test(key));
  const bold = (trace) => (trace.meta?.role === "accent" ? { weight: 600 } : {});

  function wide(text, weight = 600) {
    pen.font = `${weight} ${SIZE}px ${getComputedStyle(document.body).fontFamily}`;
    return Math.max(...text.split("<br>").map((line) => pen.measureText(line.replace(/<[^>]*>/g, "")).width));
  }

  // What a named trace is called; points without a line have their sign before it, by which they are told apart.
  function called(trace) {
    if (!trace.mode?.startsWith("markers")) return trace.name;
    const [symbol, open] = (trace.marker?.symbol ?? "circle").split(/-(?=open)/);
    return `${(open && HOLLOW[symbol]) || GLYPHS[symbol] || "●"} ${trace.name}`;
  }

  // Whether names have a margin of their own, right of the drawing, or stand above their lines' ends.
  function aside(data, width) {
    const widths = data.filter((trace) => trace.meta?.named === "end").map((trace) => wide(called(trace)));
    const widest = Math.max(0, ...widths);
    return width >= NARROW || widest <= BESIDE ? widest && widest + 18 : 0;
  }

  function coloured(trace, colour) {
    const [ink, bar] = [own(trace, colour), trace.type === "bar"];
    if (!ink) return;
    trace.marker = { ...trace.marker, color: ink };
    if (bar) trace.marker.line = { width: 0, color: colour.paper, ...trace.marker.line };
    if (bar && trace.meta.hollow) Object.assign(trace.marker, { color: CLEAR, line: { color: ink, width: 1.5 } });
    if (trace.marker.symbol?.endsWith?.("-open")) trace.marker.line = { width: 2, ...trace.marker.line };
    if (trace.type !== "bar") trace.line = { width: 2, ...trace.line, color: ink };
    for (const error of [trace.error_x, trace.error_y]) if (error) error.color = bar ? colour.ink : ink;
    const on = ["accent", "ink", "soft"].includes(trace.meta.role) && !trace.meta.hollow ? colour.paper : colour.ink;
    trace.textfont = { color: legible(trace, colour), ...bold(trace), ...trace.textfont };
    if (bar) trace.insidetextfont = { color: on };
  }

  // As many ticks as there is room for, and the last of them always: that's where lines end.
  function thinned(axis, room) {
    if (!axis.tickvals) return {};
    const texts = axis.ticktext ?? axis.tickvals.map((value) => value.toFixed(0));
    const every = Math.ceil(texts.reduce((sum, text) => sum + wide(String(text), 400) + 14, 0) / room);
    const kept = (values) => values.filter((_, place) => (values.length - 1 - place) % every === 0);
    return { tickvals: kept(axis.tickvals), ...(axis.ticktext && { ticktext: kept(texts) }) };
  }

  // How much room the names above a drawing need.
  function tops(data) {
    const names = new Set(data.filter((trace) => trace.meta?.named === "top").map((trace) => trace.name));
    return names.size && 12 + LINE * names.size;
  }

  // The figure for a place of this width, before it is drawn.
  function styled(figure, colour, width) {
    const { data, layout } = structuredClone(figure);
    for (const trace of data) coloured(trace, colour);
    const [xs, ys] = ["x", "y"].map((letter) => axesOf(layout, letter));
    const names = ys.some((name) => layout[name].type === "category") ? data.flatMap((trace) => trace.orientation === "h" || trace.type !== "bar" ? trace.y : []) : [];
    const left = Math.max(0, ...[...new Set(names)].map((name) => wide(String(name)) + 14));
    const right = Math.max(16, aside(data, width));
    const titled = (axes) => axes.some((name) => layout[name].title?.text);
    layout.margin = { l: left, r: right, t: tops(data) || (titled(ys) ? 30 : 8), b: titled(xs) ? 50 : 28, ...layout.margin };
    const every = { zeroline: false, automargin: true, tickfont: { color: colour.soft }, linecolor: colour.soft, gridcolor: colour.line };
    for (const name of xs) {
      const ticks = thinned(layout[name], width - layout.margin.r - (left || 56));
      layout[name] = { ...every, showgrid: false, showline: true, tickangle: 0, ...layout[name], ...ticks, title: undefined };
    }
    for (const name of ys) {
      const rows = layout[name].type === "category";
      layout[name] = { ...every, showline: false, showgrid: !rows || !data.some((trace) => trace.type === "bar"), showticklabels: !rows, ticklabelstandoff: 4, ...(rows ? { dtick: 1 } : { nticks: 6 }), ...layout[name], title: undefined };
    }
    const font = { size: SIZE, family: getComputedStyle(document.body).fontFamily };
    layout.font = { ...font, color: colour.ink };
    layout.paper_bgcolor = layout.plot_bgcolor = CLEAR;
    layout.hoverlabel = { bgcolor: colour.paper, bordercolor: colour.soft, font: { ...font, color: colour.ink } };
    const within = data.some((trace) => trace.type === "bar" && trace.textposition === "inside");
    if (within) layout.uniformtext = { minsize: SIZE, mode: "hide" }; // text is as large as elsewhere or isn't there
    layout.showlegend = false;
    for (const shape of layout.shapes ?? []) shape.line = { width: 1.5, ...shape.line, color: colour.ink };
    layout.dragmode = false;
    delete layout.updatemenus;
    return { data, layout };
  }

  const PIXEL = { xref: "paper", yref: "paper", x: 0, y: 1, showarrow: false, borderpad: 0, xanchor: "left", align: "left" };
  const at = (size, x, y, text, font, more) => ({ ...PIXEL, xshift: x - size.l, yshift: size.t - y, yanchor: "middle", text, font, ...more });

  // Words of a drawing that stands: annotations, in pixels from its corner.
  function words(canvas, figure, colour) {
    const { _fullLayout: full, _fullData: traces } = canvas;
    const size = full._size;
    const shown = traces.filter((trace) => trace.visible === true);
    const place = (trace, i) => {
      const [x, y] = [full[trace.xaxis.replace("x", "xaxis")], full[trace.yaxis.replace("y", "yaxis")]];
      if (trace.type !== "bar") return [x._offset + x.d2p(trace.x[i]), y._offset + y.d2p(trace.y[i])];
      const { s1, p0, p1 } = canvas.calcdata[trace.index][i]; // where the bar ends, and its two sides
      return [x._offset + x.c2p(s1 + (trace.error_x?.array?.[i] ?? 0)), y._offset + y.c2p((p0 + p1) / 2)];
    };
    return [
      ...units(figure, full, size, colour),
      ...rows(full, size, shown, colour),
      ...values(shown, place, size, full.width, colour),
      ...above(shown, place, size, full.width, colour),
      ...apart(ends(shown, place, size, aside(figure.data, full.width), full.width, colour), size),
    ].map(({ box, ...note }) => note);
  }

  // The unit of an axis at its end: above a vertical one, below the end of a horizontal one.
  function units(figure, full, size, colour) {
    const soft = { color: colour.soft };
    const ys = axesOf(figure.layout, "y").map((name) => [full[name], figure.layout[name].title?.text, name]);
    const xs = axesOf(figure.layout, "x").map((name) => [full[name], figure.layout[name].title?.text]);
    return [
      ...ys.filter(([, text]) => text).map(([axis, text]) => at(size, 0, axis._offset - 16, text, soft)),
      ...xs.filter(([, text]) => text).map(([axis, text]) => at(size, axis._offset + axis._length, size.t + size.h + 36, text, soft, { xanchor: "right" })),
    ];
  }

  // What a vertical axis of names says, from the text's left edge on; the name of the bar that matters stands out.
  function rows(full, size, shown, colour) {
    const main = shown.filter((trace) => trace.type === "bar" && trace.meta?.named === "value" && trace.meta.role === "accent" && trace.y.length === 1).flatMap((trace) => trace.y);
    return axesOf(full, "y").filter((name) => full[name].type === "category").flatMap((name) => full[name]._categories
      .filter((text) => String(text).trim())
      .map((text) => at(size, 0, full[name]._offset + full[name].d2p(text), String(text), main.includes(text) ? { weight: 600, color: colour.violet } : {})));
  }

  // The value of a bar behind its end, or where there is no room in front of it; a line that it meets ends before it.
  function values(shown, place, size, width, colour) {
    const ground = shown.some((trace) => trace.meta?.role === "faint") ? {} : { bgcolor: colour.paper };
    return shown.filter((trace) => trace.type === "bar" && trace.meta?.named === "value").flatMap((trace) => [...trace.y].flatMap((_, i) => {
      const text = trace.text?.[i];
      if (!text || trace.x[i] == null) return [];
      const [x, y] = place(trace, i);
      const fits = x + 16 + wide(text) <= width;
      const filled = trace.meta.role === "accent" && !trace.meta.hollow;
      const color = filled && !fits ? colour.paper : trace.meta.role === "accent" ? colour.violet : colour.ink;
      return at(size, fits ? x + 8 : x - 8, y, text, { color, ...bold(trace) }, { xanchor: fits ? "left" : "right", ...(fits && ground) });
    }));
  }

  // Where a line from one point to another ends, or leaves the drawing.
  function inside(size, from, to = from) {
    const past = (at, less, most, start) => (at > most ? (most - start) / (at - start) : at < less ? (start - less) / (start - at) : 1);
    const part = Math.min(past(to[0], size.l, size.l + size.w, from[0]), past(to[1], size.t, size.t + size.h, from[1]));
    return [0, 1].map((axis) => from[axis] + part * (to[axis] - from[axis]));
  }

  // The name of each line at its last point, right of it or, where there is no margin for names, above.
  function ends(shown, place, size, margin, width, colour) {
    return shown.filter((trace) => ["end", "above", "start"].includes(trace.meta?.named)).flatMap((trace) => {
      const there = [...trace.x.keys()].filter((i) => trace.x[i] != null && trace.y[i] != null);
      if (!there.length) return [];
      const [text, how] = [called(trace), trace.meta.named];
      const [x, y] = how === "start" ? place(trace, there[0]) : inside(size, ...there.slice(-2).map((i) => place(trace, i)));
      const long = wide(text);
      const left = how === "start" ? x + 4 : how === "end" && margin ? Math.min(x + 12, width - long) : Math.max(0, Math.min(x + 4, width) - long);
      const shadow = ["1px 0", "-1px 0", "0 1px", "0 -1px"].map((side) => `${side} 0 ${colour.paper}`).join(); // legible on a line
      const beside = how === "end" && margin;
      const ground = beside && { bgcolor: colour.paper, width: Math.max(left + long, size.l + size.w) - left + EN }; // the grid ends before it
      return [{ text: beside ? `\u2002${text}` : text, font: { color: legible(trace, colour), shadow, ...bold(trace) }, ground, box: { left: beside ? left - EN : left, right: left + long, y: beside ? y : y - 13 } }];
    });
  }

  // The names of lines that run down, one below the other above the drawing, each tied to its line's first point.
  function above(shown, place, size, width, colour) {
    const firsts = shown.filter((trace) => trace.meta?.named === "top").flatMap((trace) => {
      const first = [...trace.x.keys()].find((i) => trace.x[i] != null && trace.y[i] != null);
      return first === undefined ? [] : [{ trace, text: called(trace), where: place(trace, first) }];
    });
    const back = firsts.some(({ text, where }) => where[0] + 6 + wide(text) > width); // no room: names stand left of their ties
    firsts.sort((one, other) => (back ? -1 : 1) * (one.where[0] - other.where[0]));
    return firsts.flatMap(({ trace, text, where: [x, y] }, line) => {
      const color = legible(trace, colour);
      const from = 10 + LINE * line;
      const tie = { showarrow: true, arrowhead: 0, arrowwidth: 1, arrowcolor: color, ax: 0, ay: from - y, standoff: 6 };
      const side = { xanchor: back ? "right" : "left" };
      return [at(size, x, y, "", {}, tie), at(size, x + (back ? -6 : 6), from, text, { color, ...bold(trace) }, side)];
    });
  }

  // Names that would touch, a line apart.
  function apart(notes, size) {
    const boxes = notes.map(({ box }) => box);
    for (let turn = 0; turn < 200; turn++) {
      for (const [i, one] of boxes.entries()) for (const other of boxes.slice(i + 1)) {
        if (one.left > other.right || other.left > one.right) continue;
        const lacking = (LINE - Math.abs(one.y - other.y)) / 2;
        if (lacking <= 0) continue;
        const [upper, lower] = one.y <= other.y ? [one, other] : [other, one];
        upper.y -= lacking;
        lower.y += lacking;
      }
    }
    return notes.map(({ text, font, box, ground }) => at(size, box.left, box.y, text, font, { ...ground }));
  }

  return { styled, words };
})();
