/**
 * Loaded into the operator with --import. Replies to any message with the longest block of its event loop since the
 * previous one: by the clock, which on a busy machine includes time of other processes, and by the CPU time of the
 * thread.
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
process.channel?.unref() // It must not keep the process running.
