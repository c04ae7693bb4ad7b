// Draws one diagram in a frame of its own: sandboxed, without an origin, without network. What a model wrote runs into walls here,
// whatever the library makes of it.
import mermaid from "mermaid";
import { type Report, readOrder } from "./talk";

// The frame has no origin, but its address has one: the page's.
const PAGE = new URL(document.URL).origin;

window.addEventListener("message", ({ source, origin, data }) => {
  const order = source === window.parent && origin === PAGE ? readOrder(data) : null;
  if (order) void draw(order.draw, order.dark).then(tell);
});
tell({ is: "ready" });

function tell(report: Report): void {
  window.parent.postMessage(report, PAGE);
}

async function draw(text: string, dark: boolean): Promise<Report> {
  document.documentElement.style.colorScheme = dark ? "dark" : "light"; // as the page's: else the browser paints the frame white
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    theme: dark ? "dark" : "neutral",
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    fontFamily: "ui-sans-serif, system-ui, sans-serif",
    secure: [
      "secure",
      "securityLevel",
      "startOnLoad",
      "maxTextSize",
      "maxEdges",
      "suppressErrorRendering",
      "htmlLabels",
      "flowchart",
      "themeCSS",
      "fontFamily",
      "dompurifyConfig",
    ],
  });
  try {
    const { svg } = await mermaid.render("diagram", text);
    return shown(svg);
  } catch (error) {
    return { is: "failed", reason: error instanceof Error ? error.message : String(error) };
  }
}

function shown(svg: string): Report {
  const drawing = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  if (drawing.nodeName !== "svg") return { is: "failed", reason: "The drawing cannot be read." };
  disarm(drawing);
  document.body.replaceChildren(document.importNode(drawing, true));
  return { is: "drawn", height: Math.ceil(document.body.firstElementChild!.getBoundingClientRect().height) };
}

const LOADS: readonly string[] = ["href", "xlink:href", "src", "action", "formaction", "from", "to", "values"];

/** Nothing in a drawing can be pressed, loaded or followed. The walls hold without this; two are better than one. */
function disarm(drawing: Element): void {
  for (const element of drawing.querySelectorAll(
    "script, foreignObject, iframe, object, embed, image, animate, set, use[href^='http']",
  ))
    element.remove();
  for (const element of [drawing, ...drawing.querySelectorAll("*")]) {
    for (const { name, value } of [...element.attributes]) {
      const local = LOADS.includes(name) && value.startsWith("#");
      if (name.startsWith("on") || (LOADS.includes(name) && !local)) element.removeAttribute(name);
    }
  }
}
