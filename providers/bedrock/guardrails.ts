import { asObject } from '../shared/fields.ts'

const INTERVENED = /"amazon-bedrock-guardrailAction"\s*:\s*"INTERVENED"/

/** Whether a guardrail of the account has replaced the reply of Claude that this record belongs to. */
export function isIntervention(record: string): boolean {
  return INTERVENED.test(record)
}

/** A message of Claude. Guardrails do not change its reason to stop. */
export function withIntervention(body: unknown): unknown {
  const message = asObject(body)
  if (message['amazon-bedrock-guardrailAction'] !== 'INTERVENED') return body
  return { ...message, stop_reason: 'refusal' }
}
