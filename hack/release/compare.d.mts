/** @returns one line per file that differs or is missing in one folder; empty if both are equal. */
export declare function differences(one: string, other: string): string[]
