/** Provides time and randomness from what browsers and Node have in common. Imports nothing. */
export { endOfTurn, webRandom, webTime } from './web-platform.ts'
