export function Logo() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden className="size-6">
      <circle cx="12" cy="16" r="8" fill="#5b93f5" />
      <circle cx="20" cy="16" r="8" fill="#4bbd84" fillOpacity=".86" />
    </svg>
  );
}
