/** Details of the wire format, one row per claim (D74 to D80). */
import { by, type Row } from './row.ts'

export const WIRE: readonly Row[] = [
  [
    'D74',
    'A frame may arrive in any number of fragments; one above 1 MiB is rejected with a reason.',
    by('master/control/frames.test.ts', 'closes only that connection, with a reason'),
    by('master/control/control-socket.test.ts', 'does not keep the socket chunks of its fragments in memory'),
  ],
  ['D75a', 'The numbers of a task payload are kept exactly.'],
  ['D75b', 'The same applies to values, messages and outputs.'],
  ['D75c', 'Pool payloads keep theirs exactly; an inexact integer in a parsed field is 422.'],
  ['D75d', 'The id of a call is returned as it was sent.'],
  ['D75e', 'An output with a number too large for a double is dropped, counted and logged.'],
  ['D76a', 'null in an optional field is the same as omitting it.'],
  ['D77a', 'Only tasks.reserve needs a registered worker.'],
  [
    'D77b',
    'More than 60 pings in one read end the connection.',
    by('master/control/control-socket.test.ts', 'is disconnected after more than 60 pings in one read, not before'),
  ],
  ['D76b', '`since` may have an exponent.'],
  [
    'D73g',
    'Two Host headers and any version except HTTP/1.x are rejected.',
    by('master/http/request-head.test.ts', 'has a detail and a request id, and closes the connection'),
  ],
  [
    'D73h',
    'Authorization may have several spaces after Bearer.',
    by('master/http/request-head.test.ts', 'Authorization may have several spaces after Bearer'),
  ],
  [
    'D78',
    'Concurrent reserves of one worker, also in one batch, each wait and are each served.',
    by('master/queue/waiters.test.ts', 'wait together, and each gets a task'),
    by('master/queue/waiters.test.ts', 'of one JSON-RPC batch each get a task'),
  ],
  [
    'D102',
    'While tasks are pending, no reserve of a worker starves or returns empty because of its other reserves (G31).',
    by('master/queue/lanes.test.ts', 'lanes that reserve %d tasks are each served within %d calls of the store (G31)'),
    by('master/queue/waiters-model.test.ts', 'agree on every poll, in any order of polls, ghosts'),
    by('master/rpc/lanes.test.ts', 'each get their share, and none an empty response (G31)'),
  ],
  [
    'D80a',
    'An ack with the token of another acked task is lease_lost.',
    by(
      'storage/contract/tasks-settle.ts',
      'acks a task only by its own token, not by the token of another acked task (D80)',
    ),
  ],
  [
    'D80b',
    'An idempotency key whose submit was a duplicate of its own task_id refers to that task.',
    by(
      'storage/contract/tasks-in.ts',
      'keeps the key of a submit with a duplicate task id for its whole window (D27, D80)',
    ),
  ],
  ['client/go', 'A client in Go with gorilla/websocket gets the responses that these rows describe.'],
  ['client/python', 'A client in Python with the standard library gets the responses that these rows describe.'],
]
