/** The small print of the wire, one row for each claim (D74 to D80). */
import { by, type Row } from './row.ts'

export const WIRE: readonly Row[] = [
  [
    'D74',
    'A frame may arrive in any number of fragments; one above 1 MiB is refused with a reason.',
    by('master/control/frames.test.ts', 'closes only that connection, with a reason'),
    by('master/control/control-socket.test.ts', 'does not keep the socket chunks of its fragments in memory'),
  ],
  ['D75a', 'The numbers of a task payload are kept as they were sent.'],
  ['D75b', 'So are those of values, messages and outputs.'],
  ['D75c', 'Pool payloads keep theirs; an integer that has to be parsed and that no double holds is 422.'],
  ['D75d', 'The id of a call comes back as it was sent.'],
  ['D75e', 'An output with a number beyond the doubles is dropped, counted and logged.'],
  ['D76a', 'null in a field that may be left out is the same as leaving it out.'],
  ['D77a', 'Only tasks.reserve needs a registered worker.'],
  [
    'D77b',
    'More than 60 pings in one read end the connection.',
    by('master/control/control-socket.test.ts', 'is disconnected after more than 60 pings in one read, not before'),
  ],
  ['D76b', '`since` may have an exponent.'],
  [
    'D73g',
    'Two Host headers and another version than HTTP/1.x are refused.',
    by('master/http/request-head.test.ts', 'has a detail and a request id, and closes the connection'),
  ],
  [
    'D73h',
    'Authorization may have several spaces behind Bearer.',
    by('master/http/request-head.test.ts', 'Authorization may have several spaces after Bearer'),
  ],
  [
    'D78',
    'Concurrent reserves of one worker, also in one batch, each wait and are each served.',
    by('master/queue/waiters.test.ts', 'wait together, and each gets a task'),
    by('master/queue/waiters.test.ts', 'of one JSON-RPC batch each get a task'),
  ],
  [
    'D80a',
    'An ack with the token of another acked task is lease_lost.',
    by('storage/contract/tasks-settle.ts', 'not by that of another that was acked'),
  ],
  [
    'D80b',
    'An idempotency key whose submit was a duplicate of its own task_id stands for that task.',
    by('storage/contract/tasks-in.ts', 'keeps a key whose submit was a duplicate of its own task id'),
  ],
  ['client/go', 'A client in Go with gorilla/websocket gets what these rows say.'],
  ['client/python', 'A client in Python with the standard library gets what these rows say.'],
]
