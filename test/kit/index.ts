/**
 * The shared test kit: helpers that any test may use. Fixtures that start a server or a program are imported from their
 * own file (`running-master.ts`, `redis-server.ts`), so that a unit test does not load a master. So is
 * `temporary-folder.ts`, whose hook needs Jest: benchmarks use this index without it.
 */
export { HAS_OPENSSL, makeCertificates, type Certificate, type Certificates } from './certificates.ts'
export { eventually } from './eventually.ts'
export { freePort } from './free-port.ts'
export { recordingLog, type LogLine, type RecordingLog } from './recording-log.ts'
export { SLACK } from './slack.ts'
export { advanceUntil, runTurns } from './virtual-time.ts'
