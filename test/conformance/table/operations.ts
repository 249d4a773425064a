/** The decisions about operations: changes of many workers, or of many dead tasks, that the master carries out. */
import { by, type Row } from './row.ts'

export const OPERATIONS: readonly Row[] = [
  ['D189a', 'A preview counts the workers that would change, and changes nothing.'],
  ['D189b', 'An operation is created only if as many workers would change as the caller expects.'],
  ['D189c', 'An operation shows its progress, who created it and why, and what became of each worker.'],
  ['D189d', 'A worker that was changed after the operation was created is left alone.'],
  ['D189e', 'A wrong body is 422, an unknown operation 404, and a token sees only the operations of its types.'],
  ['D190a', 'After a restart of the master an operation continues, and changes no worker twice.'],
  ['D190b', 'An operation stops after the number of failures that its creator chose.'],
  ['D190c', 'A cancelled operation begins no further worker, and still judges those that it changed.'],
  [
    'D190d',
    'Only the leader advances operations, and a master that was replaced stores nothing.',
    by('master/operations/leader.test.ts', 'is advanced by the leader only'),
    by('master/operations/leader.test.ts', 'drops the step of a master that another one has replaced'),
  ],
  [
    'D190e',
    'Operations are created only while every live master knows them.',
    by('master/operations/leader.test.ts', 'is not created while a live master does not know operations'),
  ],
  ['D191', 'An undo restores the values before, and leaves alone a worker that was changed later. It works once.'],
  ['D192', 'A replay of dead tasks keeps its pace, and the rest stay dead after a cancel.'],
  [
    'D194a',
    'A large replay of the page is an operation, which continues when the page is closed and when the master restarts.',
    by(
      'dashboard/browser/dead-letters.test.ts',
      'by the thousand are replayed by an operation that continues when the page is closed (D194)',
    ),
    by(
      'master/operations/leader.test.ts',
      'of kind replay is continued by the next master, and replays each task once (D194)',
    ),
  ],
  [
    'D194b',
    'All steps of an operation are one replay.',
    by(
      'master/operations/kinds.test.ts',
      'has one result, however long it takes: how many are done, and how many are dead again (D194)',
    ),
  ],
  [
    'D201',
    'The former name of a verb works.',
    by('cmd/admin/dead.test.ts', 'replay and remove act on a group, and name its error'),
  ],
  [
    'D202',
    'Labels are accepted in both forms, and shown in one.',
    by('dashboard/tasks/task-filter.test.ts', 'are shown as key=value, in whichever form they were typed'),
  ],
]
