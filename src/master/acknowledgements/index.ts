/** Acknowledgements: what admins have seen of the attention list of the dashboard. */
export { createAcknowledgements, readAcknowledgements } from './routes.ts'
