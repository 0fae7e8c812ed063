// Charts with uPlot: the page's colours, a size that follows the panel's, and a small tooltip.
import { h, number } from "./format.js";

/** A colour of the style sheet, as it is now. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const seriesColour = (place) => colour(`series-${(place % 8) + 1}`);
export const DASHES = [[], [8, 4], [2, 3], [10, 4, 2, 4]];
/** Only points, no line between them. */
export const noLine = () => null;

const charts = new Set();
const FONT = "12px system-ui, sans-serif";

function axis(label, more = {}) {
  return {
    label,
    labelFont: FONT,
    labelSize: 20,
    font: FONT,
    stroke: colour("soft"),
    labelGap: 2,
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { show: false },
    ...more,
  };
}

const short = (u, splits) => splits.map((value) => (value === null ? "" : number(value, 4)));

/**
 * A chart in a box. `make()` returns { series, scales, axes: [x label, y label], draw, tip(index), yAxis }, anew whenever
 * the colours change; `data` is set with `update`.
 */
export class Chart {
  constructor(make, label, { height = 230, sync = null } = {}) {
    this.make = make;
    this.height = height;
    this.sync = sync;
    this.tip = h("div", { class: "tip", hidden: true });
    this.box = h("div", { class: "chart", role: "img", "aria-label": label }, this.tip);
    this.box.style.height = `${height}px`;
    this.data = null;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.box);
    this.inSight = true;
    this.sight = new IntersectionObserver(
      (entries) => {
        this.inSight = entries[entries.length - 1].isIntersecting;
        if (this.inSight && this.stale) this.update(this.data);
      },
      { rootMargin: "200px" },
    );
    this.sight.observe(this.box);
    charts.add(this);
  }

  label(text) {
    this.box.setAttribute("aria-label", text);
  }

  build() {
    this.plot?.destroy();
    const wanted = this.make();
    const [xLabel, yLabel] = wanted.axes;
    const tip = this.tip;
    this.plot = new uPlot(
      {
        width: Math.max(120, this.box.clientWidth),
        height: this.height,
        legend: { show: false },
        cursor: {
          points: { show: false },
          drag: { x: true, y: false },
          x: true,
          y: false,
          ...(this.sync ? { sync: { key: this.sync, setSeries: false, scales: ["x", null] } } : {}),
        },
        scales: { x: { time: false, ...wanted.xScale }, ...wanted.scales },
        series: [{}, ...wanted.series],
        axes: [
          axis(xLabel, { size: 26, labelSize: 18, values: short }),
          axis(yLabel, { size: 54, labelSize: 18, values: short, ...wanted.yAxis }),
        ],
        padding: [10, 16, 0, 0],
        hooks: {
          draw: [(u) => wanted.draw?.(u)],
          setCursor: [
            (u) => {
              const place = u.cursor.idx;
              const lines = place === null || place === undefined || !u.cursor.event ? null : wanted.tip?.(place);
              tip.hidden = !lines;
              if (!lines) return;
              tip.replaceChildren(...lines.map((line) => h("div", {}, line)));
              const left = u.cursor.left + u.over.offsetLeft;
              const room = this.box.clientWidth - tip.offsetWidth - 4;
              tip.style.left = `${Math.max(0, Math.min(left + 14, room))}px`;
              tip.style.top = `${u.over.offsetTop + 4}px`;
            },
          ],
        },
      },
      this.data,
      this.box,
    );
    this.plot.over.addEventListener("mouseleave", () => {
      tip.hidden = true;
    });
    this.width = this.box.clientWidth;
  }

  /** Draw these data; a chart that is zoomed in stays so until it is double-clicked. */
  update(data) {
    this.data = data;
    this.stale = !this.inSight; // drawn when it is scrolled to
    if (this.stale || !this.box.clientWidth) return;
    if (!this.plot) {
      this.build();
      return;
    }
    const { min, max } = this.plot.scales.x;
    const old = this.plot.data[0];
    const zoomed = old.length > 1 && (min > old[0] || max < old[old.length - 1]);
    this.plot.setData(data, !zoomed);
    if (zoomed) this.plot.redraw();
  }

  resize() {
    if (!this.box.isConnected) {
      this.destroy();
      return;
    }
    if (!this.box.clientWidth || !this.data) return;
    if (!this.plot) this.build();
    else if (Math.abs(this.box.clientWidth - this.width) > 1) {
      this.width = this.box.clientWidth;
      this.plot.setSize({ width: this.width, height: this.height });
    }
  }

  destroy() {
    this.observer.disconnect();
    this.sight.disconnect();
    this.plot?.destroy();
    this.plot = null;
    charts.delete(this);
  }
}

/** Draw everything again in the colours of now. */
export function repaint() {
  for (const chart of [...charts]) if (chart.data && chart.box.isConnected && chart.box.clientWidth) chart.build();
}

/** Let go of charts that are no longer on the page. */
export function sweep() {
  for (const chart of [...charts]) if (!chart.box.isConnected) chart.destroy();
}

/** A line from one value to the next in steps. */
export const stepped = () => uPlot.paths.stepped({ align: 1 });

/** Draw small crosses at some x, in a band at the lower end. */
export function crosses(u, xs, stroke) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  const y = bbox.top + bbox.height - 7 * ratio;
  const size = 3.2 * ratio;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.lineWidth = 1.6 * ratio;
  ctx.beginPath();
  for (const at of xs) {
    const x = u.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x - size, y + size);
    ctx.lineTo(x + size, y - size);
  }
  ctx.stroke();
  ctx.restore();
}

/** Draw vertical lines at some x, with words at their upper ends where there is room. */
export function markers(u, marks, stroke, ink) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.fillStyle = ink;
  ctx.textAlign = "left";
  ctx.lineWidth = ratio;
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  let free = -Infinity;
  for (const { at, text, dash } of marks) {
    const x = Math.round(u.valToPos(at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.setLineDash(dash ? [4 * ratio, 3 * ratio] : []);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (text && x > free) {
      const width = ctx.measureText(text).width;
      const left = Math.min(x + 4 * ratio, bbox.left + bbox.width - width);
      ctx.fillText(text, left, bbox.top + 11 * ratio);
      free = left + width + 6 * ratio;
    }
  }
  ctx.restore();
}
