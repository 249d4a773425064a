/** `muster doctor`: checks the way to a master, the master and its fleet. */
export { CHECKS } from './checks.ts'
export { help, OPTIONS, run, runDoctor } from './doctor.ts'
