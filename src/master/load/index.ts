/** The load of each type, from which autoscalers choose the number of workers. */
export { createLoad, type Load } from './routes.ts'
