import type { ChatRequest, ContentPart, Message, ToolCall } from '../contract/index.ts'
import { createCooperativeYield } from '../util/cooperative-yield.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import type { Inspection } from './inspection.ts'
import { findJsonSlots, type JsonSlot } from './json-slots.ts'
import {
  isJsonInSteps,
  MAX_IMMEDIATE_JSON,
  readString,
  runImmediately,
  runInSlices,
  writeString,
} from './json-text.ts'

/**
 * A JSON text of a tool as a request, so that the same code inspects both. See docs/decisions/firewall.md,
 * "Texts of tools are inspected as a request".
 */
export interface ToolRequest {
  readonly request: ChatRequest
  /** Returns the JSON text with the values of a masked request. Bytes outside of masked values stay. */
  write(masked: ChatRequest): MaybePromise<WrittenJson>
}

interface WrittenJson {
  readonly json: string
  /** Two names of an object became equal, so the document would lose a value. */
  readonly hasKeyCollision: boolean
}

/**
 * Reads a JSON text by a table: strings that hold texts and files become the parts of a message, and all else
 * the arguments of tool calls, which are inspected as JSON. Undefined if there are more than `MAX_SLOTS` of
 * them. Returns a promise for a long text, which is read in time slices.
 */
export function toToolRequest(json: string, inspection: Inspection): MaybePromise<ToolRequest | undefined> {
  return runSteps(readInSteps(json, inspection), json.length)
}

function runSteps<Result>(steps: Generator<undefined, Result>, length: number): MaybePromise<Result> {
  return length <= MAX_IMMEDIATE_JSON ? runImmediately(steps) : runInSlices(steps, createCooperativeYield())
}

function* readInSteps(json: string, inspection: Inspection): Generator<undefined, ToolRequest | undefined> {
  if (!(yield* isJsonInSteps(json))) return textRequest(json)
  const slots = yield* findJsonSlots(json, inspection)
  if (slots.length > MAX_SLOTS) return undefined
  const values = slots.map((slot) => readSlot(json, slot))
  return {
    request: buildRequest(slots, values),
    write: (masked) => runSteps(writeInSteps(json, slots, values, masked), json.length),
  }
}

/** All are visited at once. */
export const MAX_SLOTS = 3000

function textRequest(text: string): ToolRequest {
  const request: ChatRequest = { messages: [{ role: 'tool', content: text }] }
  return {
    request,
    write: ({ messages: [message] }) => ({ json: String(message?.content ?? ''), hasKeyCollision: false }),
  }
}

/** What is put around a slot to make a JSON document of it. */
const BRACKETS: Partial<Record<JsonSlot['type'], readonly [string, string]>> = {
  number: ['[', ']'],
  field: ['{', '}'],
}

function isFile({ type }: JsonSlot): boolean {
  return type === 'file' || type === 'url'
}

function readSlot(json: string, slot: JsonSlot): string {
  if (slot.text !== undefined) return headOf(slot) + slot.text
  const source = json.slice(slot.start, slot.end)
  const [before, after] = BRACKETS[slot.type] ?? ['', '']
  return before + source + after
}

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+$/

/** A file is inspected as a `data:` URL, so that its media type counts. */
function headOf({ type, mediaType }: JsonSlot): string {
  if (type !== 'file' || mediaType === undefined || !MEDIA_TYPE.test(mediaType)) return ''
  return `data:${mediaType};base64,`
}

/**
 * No part of a message but its texts is a list, because the encoding of a list is inspected, too: rules would
 * see names that the JSON text does not have.
 */
function buildRequest(slots: readonly JsonSlot[], values: readonly string[]): ChatRequest {
  const calls: ToolCall[] = []
  const texts: ContentPart[] = []
  const files: Message[] = []
  for (const [index, { type }] of slots.entries()) {
    const value = values[index] ?? ''
    if (type === 'text') texts.push({ type, text: value })
    else if (type === 'file' || type === 'url') files.push({ role: 'tool', audio: { data: value } })
    else calls.push({ id: '', function: { name: '', arguments: value } })
  }
  const content = texts.length === 1 ? (texts[0]?.text ?? '') : texts
  const results: readonly Message[] = texts.length === 0 ? [] : [{ role: 'tool', content }]
  return { messages: [{ role: 'assistant', tool_calls: calls }, ...files, ...results] }
}

function* writeInSteps(
  json: string,
  slots: readonly JsonSlot[],
  values: readonly string[],
  { messages: [called, ...results] }: ChatRequest,
): Generator<undefined, WrittenJson> {
  const calls = (called?.tool_calls ?? []).map((call) => call.function.arguments)
  const content = results.at(-1)?.content
  const texts = typeof content === 'string' ? [content] : (content ?? []).map(({ text }) => text)
  const files = results.map(({ audio }) => (audio as { readonly data: string } | undefined)?.data)
  const next = { calls: calls.values(), texts: texts.values(), files: files.values() }
  let copiedTo = 0
  let hasKeyCollision = false
  const written: string[] = []
  for (const [index, slot] of slots.entries()) {
    const { type } = slot
    const { value } = (isFile(slot) ? next.files : type === 'text' ? next.texts : next.calls).next()
    if (value === undefined) throw new Error('The masked request lacks a value.')
    if (value === values[index]) continue
    const replaced = yield* writeSlot(slot, value)
    written.push(json.slice(copiedTo, slot.start), replaced)
    copiedTo = slot.end
    hasKeyCollision ||= slot.siblings !== undefined && isCollision(slot.siblings, json, slot, replaced)
  }
  return { json: written.join('') + json.slice(copiedTo), hasKeyCollision }
}

function isCollision(siblings: Set<string>, json: string, { start }: JsonSlot, replaced: string): boolean {
  const name = nameAt(replaced, 0)
  if (name === nameAt(json, start)) return false
  if (siblings.has(name)) return true
  siblings.add(name)
  return false
}

function nameAt(json: string, start: number): string {
  return runImmediately(readString(json, start))?.text ?? ''
}

function* writeSlot(slot: JsonSlot, value: string): Generator<undefined, string> {
  if (slot.text !== undefined) {
    const head = headOf(slot)
    return yield* writeString(value.startsWith(head) ? value.slice(head.length) : value)
  }
  const length = BRACKETS[slot.type]?.[0].length ?? 0
  return value.slice(length, value.length - length)
}
