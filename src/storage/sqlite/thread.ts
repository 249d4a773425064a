/**
 * @module storage/sqlite/thread
 * The entry point of the thread that owns the database. It handles one request after the other, in order; a request is
 * a whole group, so its transaction has ended before the next one is looked at.
 */
import { parentPort } from 'node:worker_threads'
import { EngineServer, type Notice, type Request } from './host.ts'

const port = parentPort
if (port === null) throw new Error('storage/sqlite/thread runs only in a worker thread')
const server = new EngineServer((checkedBytes) => port.postMessage({ checkedBytes } satisfies Notice))
port.on('message', (request: Request) => port.postMessage(server.answer(request)))
