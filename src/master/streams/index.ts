/** Output streams: the sink that workers' outputs go to, and the routes that show and take them. */
export { createStreams, type Streams } from './streams.ts'
