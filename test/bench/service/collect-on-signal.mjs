/** Preloaded into a server whose memory is measured. SIGUSR2 collects garbage. */
process.on('SIGUSR2', () => globalThis.gc())
