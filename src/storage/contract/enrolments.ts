/**
 * @module storage/contract/enrolments
 * Defines enrolment rules: which revision a worker gets when it registers for the first time.
 *
 * The master chooses the rule, because only it knows globs, labels and schemas. The store compares versions: a register
 * that creates a record names the version of the rules that the master has read. If another one is stored, nothing is
 * written, and the master reads the rules again. So no record is created by a rule that was changed or removed before.
 * @see D141
 */
import type { JsonText } from '../../protocol/index.ts'

/** How a rule labels the config of a new record, and who manages it. */
export interface Enrolment {
  /** The name of a stored revision. */
  readonly revision: string
  /** The second part of the label. */
  readonly variant: string
  readonly managedBy: string | null
}

/** One rule. While it is stored, its revision is in use. */
export interface EnrolmentRule extends Enrolment {
  /** 1 to 256 characters. */
  readonly name: string
  /** What the master knows of it: patterns, labels and patch. */
  readonly body: JsonText
}

/** The rules of a type, at one time. */
export interface EnrolmentRules {
  /** Another text after each change of the rules, without a colon; `''` before the first one. */
  readonly version: string
  /** Ordered by name, by code units. */
  readonly rules: readonly EnrolmentRule[]
}

/**
 * `unchanged`: an equal rule is stored. `full`: the type has 16 rules, and none of this name. `unknown_revision`: the
 * revision is not stored, or not any more. Nothing was written, unless `stored`.
 */
export type EnrolmentPutResult = 'stored' | 'unchanged' | 'full' | 'unknown_revision'

/** Enrolment rules of automation types. */
export interface Enrolments {
  /**
   * Stores a rule, or replaces that of this name.
   *
   * @param type The automation type.
   * @param rule The rule.
   * @returns whether it was stored.
   * @throws {FleetError} STORAGE_FULL. Nothing was written. STORAGE_UNAVAILABLE. Safe to retry.
   */
  put(type: string, rule: EnrolmentRule): Promise<EnrolmentPutResult>
  /**
   * Removes a rule.
   *
   * @param type The automation type.
   * @param name The name of the rule.
   * @returns false if there is no such rule.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns false.
   */
  remove(type: string, name: string): Promise<boolean>
  /**
   * Reads the rules of a type.
   *
   * @param type The automation type.
   * @returns at most 16 rules.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  list(type: string): Promise<EnrolmentRules>
}
