// Markdown as inert elements: no HTML, no remote images, links checked and marked. Cut into blocks, so that while a text streams only
// its last block is read again.

import { ExternalLink, ImageOff } from "lucide-react";
import { lexer, type Token, type Tokens } from "marked";
import { isValidElement, memo, type ReactNode, useMemo } from "react";
import ReactMarkdown, { type Components, type Options } from "react-markdown";
import remarkGfm from "remark-gfm";
import remarkMath from "remark-math";
import { t } from "../texts/messages";
import { Code } from "./Code";
import { Diagram } from "./Diagram";
import { Formula } from "./Formula";
import { saysWhere, targetOf } from "./links";
import { markMaths } from "./mathSource";
import { LinkToFile, TextWithPaths } from "./TextWithPaths";
import { markText } from "./textSpans";

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <div className="prose min-w-0 break-words">
      {blocks.map(({ source, diagram, level }, at) =>
        diagram === null ? <Block key={at} source={source} level={level} /> : <Diagram key={at} text={diagram} />,
      )}
    </div>
  );
}

const PLUGINS: Options["remarkPlugins"] = [remarkGfm, [remarkMath, { singleDollarTextMath: false }]];
const REHYPE_PLUGINS: Options["rehypePlugins"] = [markText];

const Block = memo(function Block({ source, level }: { source: string; level: number }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} rehypePlugins={REHYPE_PLUGINS} components={componentsAt(level)}>
      {markMaths(source)}
    </ReactMarkdown>
  );
});

/** A diagram is one only once its fence is closed: half of it cannot be drawn. */
interface TextBlock {
  source: string;
  diagram: string | null;
  /** Of the heading that it is; 2 for anything else. */
  level: number;
}

export function blocksOf(text: string): TextBlock[] {
  try {
    const tokens = lexer(text).filter(({ type }) => type !== "space");
    const addresses = tokens
      .filter(isAddress)
      .map(({ raw }) => raw.trim())
      .join("\n");
    const levelOf = headingLevels();
    return tokens
      .filter((token) => !isAddress(token))
      .map((token) => ({ source: sourceOf(token, addresses), diagram: diagramIn(token), level: levelOf(token) }));
  } catch {
    return [{ source: text, diagram: null, level: TOP }];
  }
}

const TOP = 2; // the page's own heading is the chat's title

/** Levels without a gap, whichever signs a model chose: one below the heading that this one belongs to. */
function headingLevels(): (token: Token) => number {
  let above: number[] = [];
  return (token) => {
    if (token.type !== "heading") return TOP;
    const { depth } = token as Tokens.Heading;
    above = [...above.filter((each) => each < depth), depth];
    return Math.min(TOP + above.length - 1, 6);
  };
}

/** `[1]: https://…`: where links of other blocks lead. A note, `[^1]: words`, looks alike and is meant to be read. */
function isAddress({ type, raw }: Token): boolean {
  return type === "def" && !raw.trimStart().startsWith("[^");
}

const NOTES = /^ {0,3}\[\^/gm;

/** A block is read by itself, so it gets the addresses that stand elsewhere. Notes stay the words they are, beside their text. */
function sourceOf({ type, raw }: Token, addresses: string): string {
  if (type === "code") return raw;
  const source = raw.replace(NOTES, "\\[^");
  return addresses && source.includes("]") ? `${source.trimEnd()}\n\n${addresses}` : source;
}

const CLOSED = /^ {0,3}(`{3,}|~{3,})[\s\S]*\n {0,3}\1[`~]*[ \t]*\n*$/;

function diagramIn(token: Token): string | null {
  if (
    token.type !== "code" ||
    (token as Tokens.Code).lang?.trim().toLowerCase() !== "mermaid" ||
    !CLOSED.test(token.raw)
  )
    return null;
  return (token as Tokens.Code).text;
}

const COMPONENTS: Components = {
  a: ({ href, children }) => <Link href={href} words={children} />,
  img: ({ src, alt }) => <NoImage src={typeof src === "string" ? src : undefined} alt={alt} />,
  pre: ({ children }) => <Fence>{children}</Fence>,
  code: ({ children, className }) =>
    className?.includes("math-inline") ? (
      <Formula tex={plain(children)} block={false} />
    ) : (
      <code className={className}>
        <TextWithPaths text={plain(children)} kind="code" />
      </code>
    ),
  data: ({ children }) => <TextWithPaths text={plain(children)} kind="prose" />,
  // Each block runs the way its own words do. A paragraph by its style: what has a `dir` of its own tells the list around it nothing.
  ul: ({ children, className }) => (
    <ul dir="auto" className={className}>
      {children}
    </ul>
  ),
  ol: ({ children, start }) => (
    <ol dir="auto" start={start}>
      {children}
    </ol>
  ),
  blockquote: ({ children }) => <blockquote dir="auto">{children}</blockquote>,
  table: ({ children }) => <table dir="auto">{children}</table>,
};

const AT_LEVELS: Readonly<Record<number, Components>> = Object.fromEntries(
  [2, 3, 4, 5, 6].map((level) => {
    const Heading = `h${level}` as "h2";
    const heading = ({ children }: { children?: ReactNode }) => <Heading dir="auto">{children}</Heading>;
    return [
      level,
      { ...COMPONENTS, h1: heading, h2: heading, h3: heading, h4: heading, h5: heading, h6: heading } as Components,
    ];
  }),
);

function componentsAt(level: number): Components {
  return AT_LEVELS[level] ?? COMPONENTS;
}

function Link({ href, words }: { href: string | undefined; words: ReactNode }) {
  const target = targetOf(href);
  if (!target) {
    const inert = <span title={href ? t.notAWebAddress(href) : undefined}>{words}</span>;
    return href ? <LinkToFile target={href} words={words} otherwise={inert} /> : inert;
  }
  return (
    <a
      href={target.href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      title={target.href}
      className="text-link underline decoration-current/40 underline-offset-2 hover:decoration-current"
    >
      {words}
      {!saysWhere(plain(words), target) && <span className="text-ink-3"> ({target.host})</span>}
      <ExternalLink size={12} aria-label={t.opensInANewTab} className="ml-0.5 inline align-baseline" />
    </a>
  );
}

function NoImage({ src, alt }: { src: string | undefined; alt: string | undefined }) {
  const target = targetOf(src);
  return (
    <span className="inline-flex items-center gap-1.5 rounded-md border border-line bg-sunken px-2 py-0.5 text-[13px] text-ink-2">
      <ImageOff size={13} aria-hidden />
      {t.imageNotLoaded(alt ?? "")}
      {target && <span className="text-ink-3">({target.host})</span>}
    </span>
  );
}

function Fence({ children }: { children: ReactNode }) {
  if (!isValidElement<{ className?: string; children?: ReactNode }>(children)) return <pre>{children}</pre>;
  if (children.props.className?.includes("math-display")) return <Formula tex={plain(children.props.children)} block />;
  const language = /language-([\w+#.-]+)/.exec(children.props.className ?? "")?.[1] ?? null;
  return <Code text={plain(children.props.children).replace(/\n$/, "")} language={language} />;
}

function plain(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(plain).join("");
  return isValidElement<{ children?: ReactNode }>(node) ? plain(node.props.children) : "";
}
