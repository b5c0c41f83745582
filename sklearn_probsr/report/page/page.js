"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const PAGE = 25, PRINTED = 500, SHOWN_FEATURES = 12, NAMED = 6, BARS = 12, FEW = 7;

  // Text only ever becomes text: no HTML is made from data.
  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "style") Object.entries(value).forEach(([k, v]) => node.style.setProperty(k, v));
      else if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  async function read() {
    const held = JSON.parse($("data").textContent);
    if (!held.deflated) return held;
    const text = atob(held.deflated), bytes = new Uint8Array(text.length);
    for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  // Guarantees are whole ten-thousandths, rounded down.
  const percent = (part) => (part === 10000 ? "100" : (part / 100).toFixed(2)) + "%";
  const chance = (v) => (v < 1 && v >= 0.9995 ? "> 99.9%" : v > 0 && v < 0.0005 ? "< 0.1%" : `${(100 * v).toFixed(1)}%`);
  // Long names may be cut behind signs, where they have no spaces; numbers may not.
  const soft = (text) => text.split(/(?<=[^\d\s][_./\\|:-])(?=[^\d\s])/).flatMap((part, k) => (k ? [make("wbr"), part] : [part]));
  const share = (value) => Math.round(100 * value) + "%";
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toPrecision(3);
  // As Python's words have them: 100,000 rows, whatever the language of the browser.
  const english = new Intl.NumberFormat("en-US"), digits = (n) => english.format(n);
  const count = (n, word) => `${digits(n)} ${word}${n === 1 ? "" : "s"}`;
  const and = (parts) =>
    parts.length < 2 ? parts.join("") : parts.slice(0, -1).join(", ") + " and " + parts[parts.length - 1];
  // In sentences by commas, or, where one has a comma or an "and" inside, by semicolons; as Python's.
  const cell = (parts) => parts.map((text) => (text.includes(";") ? `“${text}”` : text)).join("; ");
  function listed(parts, although = []) {
    const all = [...parts, ...although];
    const [between, told] = !all.some((text) => /[,;]| and /.test(text)) ? [", ", [and(parts), and(although)]]
      : all.length === 1 && all[0].includes(" and ") ? ["", [parts, although].map((some) => some.map((text) => `“${text}”`).join(""))]
      : ["; ", [cell(parts), cell(although)]];
    return [told[0], although.length ? `although ${told[1]}` : ""].filter(Boolean).join(between);
  }
  // The first few; one more is named rather than counted.
  const few = (parts, most = NAMED) =>
    parts.length <= most + 1 ? parts : [...parts.slice(0, most), `${parts.length - most} more`];
  // A live region that is written again is read again.
  const say = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };
  const largest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const smallest = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const median = (values) => {
    const sorted = Float64Array.from(values).sort(), middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  };

  function start(data) {
    const n = data.rows.length, last = data.levels.length - 1;
    let level = data.levels.indexOf(data.delta), page = 0, printing = false;
    const open = new Set();
    let sorted = { key: "row", down: false }, order = [...Array(n).keys()];

    // What opens a row is what it is called.
    const opener = data.ids ? "id" : "row";
    const called = (i) => (data.ids ? `${data.idName} ${data.ids[i]}` : `Row ${i}`);
    // Rows that were flagged are in the table, and in nothing that sums rows up.
    const status = (i) => (data.status ? data.status[i] : "ok");
    const fine = order.filter((i) => status(i) === "ok");

    const levelText = (k) => +(100 * data.levels[k]).toPrecision(12) + "%";
    // A row's set at each level: places in its own list of features, of which the page holds the changes.
    const sets = data.rows.map((row) => {
      const held = Array(row.units.length / 3).fill(false), places = [...held.keys()];
      let seen = [];
      return row.sets.map((changed) => {
        changed.forEach((place) => { held[place] = !held[place]; });
        return changed.length ? (seen = places.filter((place) => held[place])) : seen;
      });
    });
    const reason = (i) => sets[i][level];
    const unit = (i, place) => data.rows[i].units[3 * place];
    const effect = (i, place) => data.rows[i].units[3 * place + 1];
    function fact(i, place) {
      const name = data.features[unit(i, place)], value = data.rows[i].units[3 * place + 2];
      return typeof value === "number" ? `${name} = ${value}` : value;
    }
    // SHAP values speak of the second of two classes, or of the predicted one of more.
    const side = (i) => (data.classes.length > 2 || data.rows[i].class === 1 ? 1 : -1);
    // By the law, which need not be what SHAP values say: of several classes the runner-up counts.
    const against = (i, place) => data.rows[i].against.includes(place);
    // What speaks for the class, although something speaks against it.
    function given(i, most) {
      const facts = (speaks) => few(reason(i).filter((place) => against(i, place) === speaks).map((place) => fact(i, place)), most);
      return listed(facts(false), facts(true));
    }
    const names = (i) => reason(i).map((place) => data.features[unit(i, place)]);
    const guaranteed = (i) => data.rows[i].lower[level];
    const minimality = (i, k) => data.words[data.rows[i].proved[k]];
    const claim = (i) =>
      data.claims[data.rows[i].proved[level]].replace("{delta}", levelText(level));

    const live = {
      id: (i) => data.ids[i],
      row: (i) => i,
      status,
      class: (i) => (data.rows[i].class < 0 ? "none" : data.classes[data.rows[i].class]),
      reason: (i) => cell(names(i)),
      size: (i) => reason(i).length,
      lower: guaranteed,
      proved: (i) => minimality(i, level),
    };
    const value = (key, i) => (key in live ? live[key](i) : data.columns[key][i]);
    const shown = (column, i) => {
      const v = value(column.key, i);
      if (v === null) return "–";
      if (column.kind === "guarantee") return percent(v);
      if (column.kind === "share") return share(v);
      if (column.kind === "probability") return chance(v);
      return String(v);
    };
    const short = (i) => data.short[i] === 1;
    const wrong = (i) => data.columns.true[i] !== null && data.columns.true[i] !== live.class(i);
    // What falls short of what was asked for.
    const bad = (key, i) => (key === "top" && short(i)) || (key === "true" && wrong(i)) || (key === "status" && status(i) !== "ok")
      || (key === "lower" && minimality(i, level) === "best-of-size");

    // --- the slider and what follows it ---------------------------------------------------------
    $("level").max = last;
    data.levels.forEach((_, k) => $("ticks").append(make("span", {}, levelText(k))));

    // A size may be missing in a row, or in all of them.
    const known = (key) => fine.map((i) => data.columns[key]?.[i] ?? null).filter((size) => size !== null);

    function drawSizes() {
      const kinds = [
        ["reason", `Reason at ${levelText(level)}`, fine.map((i) => reason(i).length)],
        ["signed", `By signed SHAP`, known("signed")],
        ["shap", `By |SHAP|`, known("abs")],
        ["certain", `For certain`, known("sure")],
      ].filter(([, , sizes]) => sizes.length);
      const most = Math.max(1, ...kinds.map(([, , sizes]) => largest(sizes)));
      const step = Math.ceil((most + 1) / 40);
      const parts = kinds.map(([kind, label, sizes]) => {
        const counts = Array(Math.floor(most / step) + 1).fill(0);
        sizes.forEach((size) => counts[Math.floor(size / step)]++);
        const top = Math.max(...counts);
        const at = kind === "reason" || kind === "certain" ? "" : ` for ${data.deltaText}`;
        return make("div", { class: "strip" },
          make("div", { class: "label" }, label + at, make("b", {}, `median ${median(sizes)}`)),
          make("div", { class: "bars" }, ...counts.map((c, k) => make("div", {
            class: `bar ${kind}`, style: { height: `${(100 * c) / top}%` },
            title: `${count(c, "row")}: ${step > 1 ? `${k * step} to ${k * step + step - 1}` : k} features`,
          }))));
      });
      const cells = Math.floor(most / step) + 1, every = Math.max(1, Math.round(cells / 8));
      parts.push(make("div", { class: "strip" }, make("div", { class: "label" }, "features"),
        make("div", { class: "bars axis" }, ...Array.from({ length: cells }, (_, k) =>
          make("span", {}, k % every ? "" : String(k * step))))));
      $("sizes").replaceChildren(...parts);
    }

    function drawFeatures() {
      const often = Array(data.features.length).fill(0);
      for (const i of fine) for (const place of reason(i)) often[unit(i, place)]++;
      const top = Math.max(...data.meanShap) || 1;
      const first = [...often.keys()].sort((a, b) =>
        often[b] - often[a] || data.meanShap[b] - data.meanShap[a] || a - b).slice(0, SHOWN_FEATURES);
      $("features").replaceChildren(...first.map((u) => {
        const part = often[u] / Math.max(fine.length, 1), name = data.features[u];
        const words = `${name}: in ${share(part)} of the reasons at ${levelText(level)}; mean |SHAP| ${data.meanShap[u]}`;
        return make("div", { class: "feature", role: "row", title: words },
          make("div", { class: "name", role: "cell" }, ...soft(name)),
          make("div", { class: "pair", role: "cell", "aria-label": `mean absolute SHAP value ${data.meanShap[u]}` },
            make("div", { class: "bar reason", style: { width: `${100 * part}%` } }),
            make("div", { class: "bar shap", style: { width: `${(100 * data.meanShap[u]) / top}%` } })),
          make("div", { class: "number", role: "cell" }, share(part)));
      }));
    }

    function drawLevel() {
      $("level").value = level;
      $("level").setAttribute("aria-valuetext", levelText(level));
      say("level-text", levelText(level));
      const sizes = fine.map((i) => reason(i).length);
      const short = sizes.filter((size) => size <= FEW).length / sizes.length;
      say("level-words", !sizes.length ? "No row has a reason." : `Reasons then have a median of ${count(median(sizes), "feature")} `
        + `(${smallest(sizes)} to ${largest(sizes)}), of ${digits(data.count)}`
        + `${data.count > FEW ? `; ${share(short)} have at most ${FEW}` : ""}. Over ${data.distribution}.`);
      drawSizes();
      drawFeatures();
    }

    // --- the table ------------------------------------------------------------------------------
    // Columns that are not asked for by everyone are there when they are asked for.
    const columns = () => data.table.filter((column) => !column.more || $("more").checked);
    function grouped() {
      const groups = [];
      columns().forEach((column) => {
        const same = groups.length && groups[groups.length - 1].name === column.group;
        if (same) groups[groups.length - 1].columns.push(column);
        else groups.push({ name: column.group, columns: [column] });
      });
      return groups;
    }

    function drawHead() {
      const above = make("tr", { class: "group" }, ...grouped().flatMap((group) => {
        const text = group.name.replace("{level}", levelText(level));
        const width = group.columns.length, wide = group.columns.filter((c) => c.wide).length;
        const style = group.name.includes("{level}") ? "live" : "";
        if (wide === width) return make("th", { colspan: width, class: `wide ${style}`, scope: "colgroup" }, text);
        // A group loses its wide columns on a narrow screen, and its span with them.
        return [make("th", { colspan: width - wide, class: style, scope: "colgroup" }, text)]
          .concat(wide ? [make("td", { colspan: wide, class: "wide" })] : []);
      }));
      const heads = columns().map((column) => {
        const now = sorted.key === column.key ? (sorted.down ? "descending" : "ascending") : "none";
        const button = make("button", { type: "button", "data-key": column.key }, column.label);
        button.addEventListener("click", () => sortBy(column));
        return make("th", {
          scope: "col", "aria-sort": now, title: column.help, "data-label": column.label,
          class: [column.wide ? "wide" : "", column.kind === "text" ? "text" : ""].join(" ").trim(),
        }, button);
      });
      $("table").tHead.replaceChildren(above, make("tr", {}, ...heads));
    }

    function sortBy(column) {
      const numbers = column.kind !== "text";
      sorted = sorted.key === column.key
        ? { key: column.key, down: !sorted.down }
        : { key: column.key, down: numbers && column.key !== "row" };
      arrange();
      document.querySelector(`button[data-key="${column.key}"]`).focus();
    }

    function arrange() {
      const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean), chosen = $("class").value;
      order = [];
      for (let i = 0; i < n; i++) {
        if (chosen !== "" && String(data.rows[i].class) !== chosen) continue;
        if ($("short").checked && !short(i)) continue;
        if (!matches(i, words)) continue;
        order.push(i);
      }
      const keys = order.map((i) => value(sorted.key, i)), places = [...keys.keys()];
      const numbers = keys.some((key) => typeof key === "number");
      const by = numbers ? (a, b) => a - b : (a, b) => String(a).localeCompare(String(b));
      // What is missing comes last, whichever way round.
      places.sort((a, b) => (keys[a] === null) - (keys[b] === null)
        || (sorted.down ? by(keys[b], keys[a]) : by(keys[a], keys[b])) || order[a] - order[b]);
      order = places.map((p) => order[p]);
      page = 0;
      drawTable();
    }

    // All words must be found, each anywhere.
    const matches = (i, words) => words.every((word) => found(i, word, words.length === 1));

    function found(i, word, alone) {
      const id = data.ids ? String(data.ids[i]).toLowerCase() : "";
      const named = () => names(i).some((name) => name.toLowerCase() === word);
      // Where rows have ids, only #17 is a place; a number alone means the id that it is, or is in.
      if (/^#\d+$/.test(word) || (alone && !data.ids && /^\d+$/.test(word))) return i === Number(word.replace("#", "")) || named();
      if (alone && /^\d+$/.test(word)) return (/^\d+$/.test(id) ? id === word : id.includes(word)) || named();
      return id.includes(word) || (data.status && status(i).includes(word)) || live.class(i).toLowerCase().includes(word)
        || (data.columns.true?.[i] ?? "").toLowerCase().includes(word)
        || reason(i).some((place) => `${data.features[unit(i, place)]} ${fact(i, place)}`.toLowerCase().includes(word));
    }

    function drawTable() {
      drawHead();
      const from = printing ? 0 : page * PAGE, part = order.slice(from, from + (printing ? PRINTED : PAGE));
      $("table").tBodies[0].replaceChildren(...part.flatMap((i) => open.has(i) ? [line(i), detail(i)] : [line(i)]));
      say("found", order.length === n ? count(n, "row") : `${digits(order.length)} of ${count(n, "row")}`);
      say("page", order.length ? `Rows ${digits(from + 1)} to ${digits(from + part.length)} of ${digits(order.length)}` : "No row is left");
      $("before").disabled = page === 0;
      $("after").disabled = from + PAGE >= order.length;
    }

    function line(i) {
      const cells = columns().map((column) => {
        let content = column.key === "reason" ? make("div", {}, ...soft(given(i, NAMED))) : shown(column, i);
        if (column.key === opener) {
          content = make("button", {
            type: "button", class: "open", id: `open-${i}`, "aria-expanded": open.has(i),
            "aria-label": `${called(i)}: ${live.class(i)}, ${open.has(i) ? "close" : "open"}`,
          }, String(value(opener, i)));
        }
        const style = [column.kind === "text" ? "text" : "", column.key === "reason" ? "reason" : "",
          column.wide ? "wide" : "", bad(column.key, i) ? "bad" : ""];
        const help = column.key === "status" && data.message[i] ? data.message[i] : column.help;
        return make("td", { class: style.filter(Boolean).join(" ") || null, title: `${column.label}: ${help}` }, content);
      });
      const tr = make("tr", { class: open.has(i) ? "row open" : "row", "data-row": i }, ...cells);
      tr.addEventListener("click", (event) => {
        // Text that is being selected, to be copied, is no click on the row.
        if (event.target.closest("button") || window.getSelection().isCollapsed) toggle(i);
      });
      return tr;
    }

    function toggle(i) {
      if (!open.delete(i)) open.add(i);
      drawTable();
      $(`open-${i}`).focus({ preventScroll: true });
    }

    // --- one row --------------------------------------------------------------------------------
    // What the smallest sets for the level that was asked for share: nothing is known of other levels.
    const MARKS = { 3: ["◆", "in every reason of this size"], 1: ["◇", "in some of them"], 5: ["(?)", "in some, perhaps in every one"], 4: ["?", "undecided"] };
    const marked = (i, place) => (data.levels[level] === data.delta && data.rows[i].roles && MARKS[data.rows[i].roles[place]]) || null;
    function shared(i, drawn) {
      if (data.levels[level] !== data.delta || !data.rows[i].shared) return null;
      const used = new Set(drawn.map((place) => marked(i, place)).filter((mark) => mark));
      const keys = [3, 1, 5, 4].map((code) => MARKS[code]).filter((mark) => used.has(mark)).map(([sign, words]) => `${sign} ${words}`);
      return make("p", { class: "told shared" }, data.rows[i].shared, keys.length ? make("span", { class: "keys" }, keys.join(", ")) : null);
    }

    function detail(i) {
      const row = data.rows[i], inside = new Set(reason(i));
      const told = make("p", { class: "told" },
        `Class ${live.class(i)} is kept with probability at least ${percent(guaranteed(i))} over ${data.distribution}, `
        + (reason(i).length ? `given ${given(i, BARS)}` : "whatever the features are")
        + ` (${digits(reason(i).length)} of ${count(data.count, "feature")}; ${claim(i)}).`);
      const flag = status(i) === "ok" ? null : make("p", { class: "told check" }, `${called(i)} is ${status(i)}: ${data.message[i]}`);
      // No class, so there is nothing to be sure of, nor to speak for.
      if (row.class < 0) return whole(i, flag);
      const places = [...Array(row.units.length / 3).keys()];
      const effects = places.map((place) => side(i) * effect(i, place));
      const drawn = places.filter((place) => place < BARS || inside.has(place)), others = row.others + places.length - drawn.length;
      const rest = places.reduce((sum, place) => (drawn.includes(place) ? sum : sum + effects[place]), side(i) * row.rest);
      const ends = [0, rest, ...drawn.map((place) => effects[place])], low = smallest(ends), high = largest(ends);
      const width = high - low || 1, at = (v) => (100 * (v - low)) / width;
      const bar = (name, v, style, help, but, mark) => make("div", { class: `effect ${style}`, title: help },
        make("div", { class: "name" }, ...soft(name), style ? make("span", { class: "unseen" }, ", in the reason") : null,
          but ? make("span", { class: "against" }, " although it speaks against") : null,
          mark ? make("span", { class: "mark", "aria-hidden": "true" }, `\u00a0${mark[0]}`) : null, mark ? make("span", { class: "unseen" }, `, ${mark[1]}`) : null),
        make("div", { class: "track", style: { "--zero": `${at(0)}%` } }, make("i", {
          style: { left: `${at(Math.min(v, 0))}%`, width: `${(100 * Math.abs(v)) / width}%` },
        })),
        make("div", { class: "number" }, signed(v)));
      const bars = drawn.map((place) => {
        const is = inside.has(place), v = effects[place], mark = marked(i, place);
        return bar(fact(i, place), v, is ? "in" : "",
          `SHAP value ${signed(v)} ${v < 0 ? "against" : "towards"} ${live.class(i)}; ${is ? "in" : "not in"} the reason${mark ? `; ${mark[1]}` : ""}`, is && against(i, place), mark);
      });
      if (others) bars.push(bar(count(others, "other") + (others > 1 ? ", together" : ""), rest, "", "The sum of the SHAP values that are not listed"));
      const left = make("div", {},
        make("h3", {}, `The reason (●) beside the SHAP values towards ${live.class(i)}`),
        ...bars,
        make("div", { class: "ends", "aria-hidden": "true" }, make("span", {}, low < 0 ? "← against" : ""), make("span", {}, "towards →")));
      const right = make("div", {},
        make("h3", {}, "How the reason grows with the guarantee"),
        make("div", { class: "levels" }, ...data.levels.map((_, k) => step(i, k))));
      return whole(i, flag, told, shared(i, drawn), make("div", { class: "columns" }, left, right));
    }

    function whole(i, ...parts) {
      const cell = make("td", { class: "detail", colspan: columns().length },
        make("div", {}, ...parts.filter((part) => part !== null)));
      return make("tr", { class: "detail", "data-detail": i }, cell);
    }

    function step(i, k) {
      const now = sets[i][k], before = k ? sets[i][k - 1] : [];
      const name = (place) => data.features[unit(i, place)];
      const parts = [make("span", {}, `${count(now.length, "feature")}`)];
      const gone = before.filter((place) => !now.includes(place)), added = now.filter((place) => !before.includes(place));
      few(added.map(name)).forEach((text) => parts.push(", ", make("span", { class: "new" }, `+ ${text}`)));
      few(gone.map(name)).forEach((text) => parts.push(", ", make("del", {}, text)));
      const words = `At least ${levelText(k)}: ${count(now.length, "feature")}, which keep the class with at least ${percent(data.rows[i].lower[k])}`;
      const button = make("button", { type: "button", id: `step-${i}-${k}`, "aria-pressed": k === level, title: words }, make("b", {}, levelText(k)), make("span", {}, ...parts));
      button.addEventListener("click", () => {
        setLevel(k);
        $(`step-${i}-${k}`)?.focus({ preventScroll: true });
      });
      return button;
    }

    function setLevel(k) {
      level = k;
      drawLevel();
      if (["reason", "size", "lower", "proved"].includes(sorted.key) || $("find").value.trim()) arrange();
      else drawTable();
    }

    $("level").addEventListener("input", () => setLevel(Number($("level").value)));
    data.classes.forEach((label, k) => $("class").append(make("option", { value: k }, label)));
    $("find").addEventListener("input", arrange);
    $("class").addEventListener("change", arrange);
    $("short").addEventListener("change", arrange);
    $("more").addEventListener("change", drawTable);
    $("more").parentElement.hidden = !data.table.some((column) => column.more);
    for (const [id, by, other] of [["before", -1, "after"], ["after", 1, "before"]]) {
      $(id).addEventListener("click", () => {
        page += by;
        drawTable();
        if ($(id).disabled) $(other).focus();
      });
    }
    $("table").tBodies[0].addEventListener("keydown", (event) => {
      const { row, detail } = event.target.closest("tr").dataset, i = Number(row ?? detail);
      if (event.key === "Escape" && open.has(i)) toggle(i);
    });
    const print = (now) => { printing = now; drawTable(); };
    window.addEventListener("beforeprint", () => print(true));
    window.addEventListener("afterprint", () => print(false));
    $("live").hidden = $("rows").hidden = false;
    // What is opened stays in sight while the table is scrolled sideways.
    const scroll = document.querySelector(".scroll");
    new ResizeObserver(() => scroll.style.setProperty("--visible", `${scroll.clientWidth}px`)).observe(scroll);
    drawLevel();
    arrange();
    document.documentElement.dataset.ready = "yes";
    performance.mark("ready");
  }

  read().then(start);
})();
