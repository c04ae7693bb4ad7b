// Numbers, days and sizes as people write them in German.
export const number = (value: number): string => value.toLocaleString("de");

export const dollars = (value: number): string => value.toLocaleString("de", { style: "currency", currency: "USD" });

export const day = (date: Date): string => date.toLocaleDateString("de");

/** By the rule of `sizes.ts`, which is repeated here: the page waits for the German texts, so they load no other module. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${number(bytes)} Byte`;
  const [unit, divisor, digits] =
    bytes >= 1024 ** 3
      ? (["GB", 1024 ** 3, 1] as const)
      : bytes >= 1024 ** 2
        ? (["MB", 1024 ** 2, 1] as const)
        : (["KB", 1024, 0] as const);
  const size = (bytes / divisor).toLocaleString("de", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${size} ${unit}`;
}
