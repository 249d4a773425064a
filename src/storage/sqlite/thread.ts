/**
 * @module storage/sqlite/thread
 * The entry point of the thread that owns the database. It answers one request after the other, in order; a request is
 * a whole group, so its transaction has ended before the next one is looked at.
 */
import { parentPort } from 'node:worker_threads'
import { EngineServer, type Request } from './host.ts'

const port = parentPort
if (port === null) throw new Error('storage/sqlite/thread runs in a worker thread alone')
const server = new EngineServer()
port.on('message', (request: Request) => port.postMessage(server.answer(request)))
