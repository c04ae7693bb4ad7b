// Sizes as the terminal writes them (`human_size` of the server): in units of 1024, as all limits are; bytes and KB whole, MB and GB
// with one decimal, halves rounded up. tests/support/sizes.json holds examples that both must meet.
const UNITS = ["KB", "MB", "GB"] as const;

export function sizeText(bytes: number, locale: string, nameOfBytes: string): string {
  if (bytes < 1024) return `${bytes.toLocaleString(locale)} ${nameOfBytes}`;
  const power = bytes >= 1024 ** 3 ? 3 : bytes >= 1024 ** 2 ? 2 : 1;
  const decimals = power === 1 ? 0 : 1;
  const size = (bytes / 1024 ** power).toLocaleString(locale, {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return `${size} ${UNITS[power - 1]}`;
}
