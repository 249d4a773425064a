/** Exports the reader of the event stream apart from the protocol, because the dashboard bundles it alone. */
export { EventReader } from './event-reader.ts'
