/**
 * Loaded into the operator with --import. Answers any message with the longest time its event loop went without a turn
 * since the last one: by the clock, which on a busy machine is also time when others ran, and by the processor time of the
 * thread, which is its own doing.
 */
const TICK_MS = 5
let [atMs, cpuUs] = [performance.now(), threadCpuUs()]
let longest = { wallMs: 0, cpuMs: 0 }

function threadCpuUs() {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

setInterval(() => {
  const [nowMs, nowUs] = [performance.now(), threadCpuUs()]
  longest = { wallMs: Math.max(longest.wallMs, nowMs - atMs), cpuMs: Math.max(longest.cpuMs, (nowUs - cpuUs) / 1_000) }
  ;[atMs, cpuUs] = [nowMs, nowUs]
}, TICK_MS).unref()

process.on('message', () => {
  process.send({ ...longest, heapBytes: process.memoryUsage().heapUsed })
  longest = { wallMs: 0, cpuMs: 0 }
})
process.channel?.unref() // It is no reason to live on.
