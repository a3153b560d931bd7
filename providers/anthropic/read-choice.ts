import { GatewayError } from '../../core/contract/errors.ts'
import { readObject, readObjects, readString } from '../read-fields.ts'
import type { ToolOffer } from './wire.ts'

export interface Choice {
  readonly mode: 'none' | 'auto' | 'required'
  /** The tools that may be called. */
  readonly allowed: readonly ToolOffer[]
  /** The only one that may be called, when the request names it. */
  readonly named?: string
}

/** Reads `tool_choice` in all its forms. Throws a `GatewayError` for one that does not exist or names no tool. */
export function readChoice(choice: unknown, tools: readonly ToolOffer[]): Choice {
  if (choice == null) return { mode: 'auto', allowed: tools }
  if (choice === 'none' || choice === 'auto' || choice === 'required') return { mode: choice, allowed: tools }
  const { type, function: named, allowed_tools } = readObject(choice)
  if (type === 'function') return readNamed(readName(named), tools)
  if (type === 'allowed_tools') return readAllowed(allowed_tools, tools)
  throw refuse('tool_choice must be none, auto, required, a function or allowed_tools.')
}

function readNamed(name: string, tools: readonly ToolOffer[]): Choice {
  return { mode: 'required', allowed: keep([name], tools), named: name }
}

function readAllowed(value: unknown, tools: readonly ToolOffer[]): Choice {
  const { mode, tools: list } = readObject(value)
  const names = readObjects(list).map((tool) => readName(tool.function))
  return { mode: mode === 'required' ? 'required' : 'auto', allowed: keep(names, tools) }
}

function readName(value: unknown): string {
  return readString(readObject(value).name)
}

function keep(names: readonly string[], tools: readonly ToolOffer[]): readonly ToolOffer[] {
  const kept = tools.filter(({ name }) => names.includes(name))
  if (kept.length === 0) throw refuse('tool_choice names a function that tools does not offer.')
  return kept
}

function refuse(message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param: 'tool_choice' })
}
