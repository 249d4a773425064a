/** @module protocol/environment  Defines the name of an installation, which `GET …/me` returns (D176). */
import { Type, type Static } from 'typebox'

/** Colors that the dashboard can show for an environment. */
export const ENVIRONMENT_COLORS = ['gray', 'red', 'orange', 'yellow', 'green', 'blue', 'purple'] as const
/** One of `ENVIRONMENT_COLORS`. */
export type EnvironmentColor = (typeof ENVIRONMENT_COLORS)[number]
/** The name of an installation, such as `production`, and the color of that name. */
export const EnvironmentBody = Type.Object({ name: Type.String(), color: Type.Enum([...ENVIRONMENT_COLORS]) })
export type EnvironmentBody = Static<typeof EnvironmentBody>
