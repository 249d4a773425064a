/** The load of each type, from which autoscalers choose the number of workers. */
export type { LoadSample } from './load-samples.ts'
export { createLoad, type Load } from './routes.ts'
