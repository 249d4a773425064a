/** @module dashboard/tasks/tiers  Names the tiers of a queue, and adds up their tasks. */

export const TIERS = ['high', 'normal', 'low'] as const
type Tier = (typeof TIERS)[number]

export const waitingOf = ({ high, normal, low }: Readonly<Record<Tier, number>>): number => high + normal + low
