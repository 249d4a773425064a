/** Exports what reads the event stream apart from the protocol, because the dashboard bundles it alone. */
export { batchNameOf, singleEvents } from './batched-events.ts'
export { EventReader } from './event-reader.ts'
