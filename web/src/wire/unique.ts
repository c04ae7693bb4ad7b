/** A name that nothing else has. A page over plain HTTP is given no `randomUUID`, and a server at home is often reached that way. */
export function unique(): string {
  return (
    crypto.randomUUID?.() ??
    [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")
  );
}
