// The chosen colours, before the first paint. The page itself keeps them afterwards (settings/preferences.ts).
try {
  const { theme } = JSON.parse(localStorage.getItem('muster:preferences') ?? '{}')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage is forbidden, or holds something else: the colours of the system.
}
