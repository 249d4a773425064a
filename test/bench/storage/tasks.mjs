/** The rows for parts of a task's life: submit, reserve + ack, the cycle, and its costs in Redis. */
import { openBeeQueue } from './bee-queue.mjs'
import { openBullmq } from './bullmq.mjs'
import { openGraphileWorker } from './graphile-worker.mjs'
import { LIVES, lifeOf } from './life.mjs'
import { diskRates, emptyEvalsha, hsetAndRpush, scripted } from './limits.mjs'
import { openMuster } from './muster.mjs'
import { openPgBoss } from './pg-boss.mjs'

const QUEUES = {
  'Muster, Redis': openMuster('redis'),
  'Muster, memory': openMuster('memory'),
  BullMQ: openBullmq,
  'bee-queue': openBeeQueue,
  'graphile-worker': openGraphileWorker,
  'pg-boss': openPgBoss,
}
/** Share of the tasks of the other queues, so that a run ends in time. */
const SHARES = { 'graphile-worker': 1 / 3, 'pg-boss': 1 / 3 }
const PEERS = Object.keys(QUEUES).filter((name) => !name.startsWith('Muster'))
const ON_REDIS = ['Muster, Redis', 'BullMQ', 'bee-queue']

/** Returns `part` of the life of each of `names`. */
const subjects = (shape, part, names = Object.keys(QUEUES)) =>
  Object.fromEntries(
    names.map((name) => [
      name,
      async (bench) => (await lifeOf(bench, name, QUEUES[name], LIVES[shape], SHARES[name]))[part],
    ]),
  )

const SAME = 'one process, payloads of 200 bytes, Redis without AOF, PostgreSQL with synchronous_commit=off'
const PROCESSING =
  'finished tasks are removed. Processing: Muster in 8 loops of reserve 100 and ack 100, ' +
  'BullMQ by one Worker with concurrency 200, bee-queue by one with 100, ' +
  'graphile-worker with the settings of its performance page (24 jobs, local queue of 500, ' +
  'completions in batches), pg-boss in 8 loops of fetch 100 and complete 100 (which keeps finished jobs)'

const muster = 'Muster, Redis'
const row = (id, title, rest) => ({ id, level: 'storage', title, unit: 'tasks/s', better: 'higher', ...rest })

export const taskRows = [
  row('submit-1', 'submit, single, 200 concurrent', {
    note:
      `${SAME}. Muster groups the calls of one turn; ` +
      'the peers send each call separately, pipelined by their clients',
    subjects: {
      ...subjects('single', 'submit'),
      'limit: EVALSHA with as many inner calls, groups of 100': scripted('submit'),
    },
    aim: 95_000,
    gates: [{ subject: muster, over: 'BullMQ', atLeast: 2 }],
  }),
  row('submit-10', 'submit, batches of 10', {
    note: `${SAME}, 16 batches in flight; addBulk, saveAll, addJobs, insert`,
    subjects: { ...subjects('ten', 'submit'), 'limit: HSET + RPUSH, pipeline 64': hsetAndRpush },
    gates: [{ subject: muster, over: 'BullMQ', atLeast: 2 }],
  }),
  row('submit-100', 'submit, batches of 100', {
    note: `${SAME}, 8 batches in flight; addBulk, saveAll, addJobs, insert`,
    subjects: { ...subjects('hundred', 'submit'), 'limit: HSET + RPUSH, pipeline 64': hsetAndRpush },
    aim: 250_000,
    gates: [{ subject: muster, over: 'BullMQ', atLeast: 4 }],
  }),
  row('reserve-ack-100', 'reserve + ack, batches of 100', {
    note: `${SAME}; ${PROCESSING}`,
    subjects: {
      ...subjects('hundred', 'process'),
      'limit: two EVALSHA with as many inner calls per 100': scripted('process'),
    },
    aim: 130_000,
    gates: [{ subject: muster, over: 'BullMQ', atLeast: 3 }],
  }),
  row('cycle-100', 'life cycle, batches of 100', {
    note: `all are added, then all are processed: the two rows above in one; ${SAME}; ${PROCESSING}`,
    subjects: {
      ...subjects('hundred', 'cycle'),
      'limit: three EVALSHA with as many inner calls per 100': scripted('cycle'),
    },
    aim: 110_000,
    gates: [{ subject: muster, over: 'BullMQ', atLeast: 5 }],
  }),
  row('cycle-1', 'life cycle, single calls, 200 concurrent', {
    note:
      `all are added, then all are processed; ${SAME}. ` +
      'Muster reserves and acknowledges each task by itself, in 200 loops; the peers process as in batches',
    subjects: { ...subjects('single', 'cycle') },
    aim: 33_000,
    gates: [{ subject: muster, over: 'BullMQ', atLeast: 1.5 }],
  }),
  row('cycle-100-aof', 'life cycle, batches of 100, AOF everysec', {
    note:
      'as above with appendonly yes, appendfsync everysec; PostgreSQL as above. ' +
      'The limit is the sequential write rate of the disk, divided by what one cycle of Muster adds to the file',
    subjects: {
      ...subjects('hundredOnDisk', 'cycle', [muster, ...PEERS]),
      'limit: sequential writes of as many bytes': writesOfAof,
    },
    aim: 100_000,
    gates: [{ subject: muster, over: 'BullMQ', atLeast: 4 }],
  }),
  row('redis-cpu-100', 'Redis CPU per life cycle, batches of 100', {
    unit: 'µs',
    better: 'lower',
    note:
      'INFO cpu before and after the life cycle in batches of 100, per task. ' +
      'Inner calls: commands that ran inside of scripts or beside them (INFO commandstats), but EVALSHA itself. ' +
      'The empty EVALSHA is one call of 100 in flight',
    subjects: { ...redisCpu(), 'limit: empty EVALSHA': emptyEvalsha },
    aim: 8,
    gates: [
      { subject: muster, over: 'BullMQ', atMost: 0.25 },
      { subject: muster, over: 'limit: empty EVALSHA', atMost: 5 },
      { subject: muster, field: 'innerCalls', atMost: 0.3 },
    ],
  }),
]

function redisCpu() {
  return Object.fromEntries(
    Object.entries(subjects('hundred', 'cycle', ON_REDIS)).map(([name, subject]) => [
      name,
      async (bench) => {
        const figures = await subject(bench)
        return { ...figures, value: figures.redisCpuUs }
      },
    ]),
  )
}

async function writesOfAof(bench) {
  const { cycle } = await lifeOf(bench, muster, QUEUES[muster], LIVES.hundredOnDisk)
  return { value: diskRates(bench.directory).bytesPerSecond / cycle.aofBytes }
}
