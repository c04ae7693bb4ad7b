// Numbers, days and sizes as people write them in German.
export const number = (value: number): string => value.toLocaleString("de");

export const dollars = (value: number): string => value.toLocaleString("de", { style: "currency", currency: "USD" });

export const day = (date: Date): string => date.toLocaleDateString("de");

export function bytesText(bytes: number): string {
  const [unit, divisor] =
    bytes >= 1e9 ? ["GB", 1e9] : bytes >= 1e6 ? ["MB", 1e6] : bytes >= 1e3 ? ["kB", 1e3] : ["B", 1];
  return `${(bytes / Number(divisor)).toLocaleString("de", { maximumFractionDigits: 1 })} ${unit}`;
}
