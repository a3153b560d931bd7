import { PatternRun } from '../../core/patterns/pattern-run.ts'
import { type CompiledPattern, compilePattern } from '../../core/patterns/patterns.ts'
import type { EvaluationOptions } from '../../plugins/firewall/evaluate.ts'

/** The limits of one request of a user. */
export function patternRun(cpuLimitMs = 5000, owner = 1): PatternRun {
  return new PatternRun({ owner, cpuLimitMs })
}

/** How the firewall evaluates requests in tests. */
export const EVALUATION: EvaluationOptions = { createRun: () => patternRun(), onTimeout: 'refuse' }

/** A pattern of a rule with the type `regex` or, with `kind`, `substring`. */
export function compiled(text: string, kind: 'regex' | 'literal' | 'preset' = 'regex'): CompiledPattern {
  const pattern = compilePattern({ kind, text })
  if ('error' in pattern) throw new Error(`${text}: ${pattern.error}`)
  return pattern
}
