import type { JsonObject } from '../contract/index.ts'
import { type CooperativeYield, createCooperativeYield } from '../util/cooperative-yield.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { INSPECTED, type Inspection, inspectionOfItems, isExemptNumber, isExemptText } from './inspection.ts'
import { MAX_IMMEDIATE_JSON, rewriteJsonText, rewriteLongJsonText } from './json-text.ts'
import { rewriteMedia, rewriteUrl } from './media-text.ts'

/** Receives the texts of a request that rules inspect. */
interface TextVisitor {
  visitText(text: string): void
  /** Called for a text that may be a JSON document. */
  visitJson(text: string): void
}

/**
 * Visits every text of a value that rules inspect: those that `mapRequest` rewrites, in the same order. A
 * walk of its own, because nearly every request is only inspected, and rewriting takes twice as long.
 */
export function visitTexts(value: unknown, inspection: Inspection, visitor: TextVisitor): void {
  if (typeof value === 'string') visitString(value, inspection, visitor)
  else if (typeof value === 'number') visitNumber(value, inspection, visitor)
  else if (typeof value !== 'object' || value === null || inspection.scalar === 'unsent') return
  else if (Array.isArray(value)) {
    const itemInspection = inspectionOfItems(inspection)
    for (let index = 0; index < value.length; index++) visitTexts(value[index], itemInspection, visitor)
  } else visitFields(value as JsonObject, inspection, visitor)
}

function visitFields(value: JsonObject, base: Inspection, visitor: TextVisitor): void {
  const inspection = base.select?.(value) ?? base
  const { fields, others = INSPECTED, names = 'text' } = inspection
  // Half the cost of Object.entries, for every message of every request. Parsed JSON inherits no fields.
  for (const name in value) {
    const known = fields?.get(name)
    if (known === undefined && !isExemptText(name, names)) visitor.visitText(name)
    const field = value[name]
    if (typeof field !== 'boolean') visitTexts(field, known ?? others, visitor)
  }
}

function visitString(text: string, { scalar }: Inspection, visitor: TextVisitor): void {
  if (scalar === 'text') visitor.visitText(text)
  else if (scalar === 'json') visitor.visitJson(text)
  else if (scalar === 'media' || scalar === 'url') {
    const rewrite = scalar === 'media' ? rewriteMedia : rewriteUrl
    rewrite(text, (part) => {
      visitor.visitText(part)
      return part
    })
  } else if (!isExemptText(text, scalar)) visitor.visitText(text)
}

function visitNumber(value: number, { scalar }: Inspection, visitor: TextVisitor): void {
  if (scalar === 'exempt') return
  const text = String(value)
  if (!isExemptNumber(text, scalar)) visitor.visitText(text)
}

/** Short texts repeat often, such as the keys of a list of objects. Hashing long ones would cost more. */
const MAX_DEDUPLICATED_LENGTH = 64

/** What repeats does so early. A larger set would take longer than the texts that it leaves out. */
const MAX_SEEN_TEXTS = 2000

/** A few texts are compared one by one. */
const MAX_COMPARED_TEXTS = 8

interface CollectorOptions {
  /** Whether JSON documents are collected as a whole, besides their values. */
  readonly withDocuments?: boolean
  /** Whether a text may be left out, because the caller knows the result of its inspection. */
  readonly isKnown?: ((text: string) => boolean) | undefined
}

/** Collects texts, each short one once, and the values of JSON documents. Long documents are read later. */
export class TextCollector implements TextVisitor {
  readonly texts: string[] = []
  private readonly options: CollectorOptions
  private seen: Set<string> | undefined
  private jsonLength = 0
  private readonly later: ((slice: CooperativeYield) => Promise<void>)[] = []

  constructor(options: CollectorOptions = {}) {
    this.options = options
  }

  visitText(text: string): void {
    if (this.options.isKnown?.(text)) return
    if (text.length <= MAX_DEDUPLICATED_LENGTH && !this.isNew(text)) return
    this.texts.push(text)
  }

  private isNew(text: string): boolean {
    if (this.seen === undefined) {
      if (this.texts.length < MAX_COMPARED_TEXTS) return !this.texts.includes(text)
      this.seen = new Set(this.texts)
    }
    if (this.seen.has(text)) return false
    if (this.seen.size < MAX_SEEN_TEXTS) this.seen.add(text)
    return true
  }

  visitJson(source: string): void {
    const collect = (text: string) => {
      this.visitText(text)
      return text
    }
    this.readJson(source, collect, (isDocument) => {
      if (!isDocument) this.visitText(source)
      else if (this.options.withDocuments) this.texts.push(source)
    })
  }

  /** Collects the values of a JSON document as one text. */
  addJoinedValues(source: string): void {
    const values: string[] = []
    const addValue = (text: string) => {
      values.push(text)
      return text
    }
    this.readJson(source, addValue, () => this.texts.push(values.join('\n')))
  }

  private readJson(
    source: string,
    read: (text: string) => string,
    done: (isDocument: boolean) => void,
  ): void {
    this.jsonLength += source.length
    if (this.jsonLength <= MAX_IMMEDIATE_JSON) done(rewriteJsonText(source, read) !== undefined)
    else
      this.later.push(async (slice) => done((await rewriteLongJsonText(source, read, slice)) !== undefined))
  }

  /** All texts. Returns a promise if there are long documents, which are read in time slices. */
  finish(): MaybePromise<readonly string[]> {
    return this.later.length === 0 ? this.texts : this.readLater()
  }

  private async readLater(): Promise<readonly string[]> {
    const slice = createCooperativeYield()
    for (const read of this.later) await read(slice)
    return this.texts
  }
}
