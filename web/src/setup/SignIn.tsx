import { KeyRound } from "lucide-react";
import { useState } from "react";
import { Logo } from "../chat/Sidebar";
import { Button } from "../ui/Button";

/** The door: a token once, then a cookie. The token is tried before it is used, so that a wrong one is said here. */
export function SignIn() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const enter = async () => {
    setBusy(true);
    const answer = await fetch("/roles", { headers: { authorization: `Bearer ${token.trim()}` }, credentials: "omit" }).catch(() => null);
    setBusy(false);
    if (answer?.ok) return location.assign(`/?token=${encodeURIComponent(token.trim())}${location.hash}`); // back to where one was
    setProblem(answer ? "This token is not the right one." : "The server does not answer.");
  };
  return (
    <main className="flex h-full items-center justify-center p-6">
      <form
        className="w-full max-w-sm"
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <div className="mb-6 flex items-center gap-3">
          <Logo />
          <h1 className="text-xl font-semibold tracking-tight">AnyCowork</h1>
        </div>
        <label htmlFor="token" className="text-sm text-ink-2">
          The token that the server printed at its start. It also stands in the file <code className="font-mono text-[13px]">token</code> of the data folder.
        </label>
        <div className="mt-3 flex gap-2">
          <input id="token" type="password" autoComplete="current-password" autoFocus value={token} onChange={({ target }) => setToken(target.value)} className="min-h-10 min-w-0 flex-1 rounded-lg border border-line-strong bg-surface px-3" />
          <Button look="primary" type="submit" icon={<KeyRound size={15} aria-hidden />} disabled={busy || !token.trim()}>
            Enter
          </Button>
        </div>
        {problem && (
          <p role="alert" className="mt-2 text-sm text-bad">
            {problem}
          </p>
        )}
      </form>
    </main>
  );
}
