import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'

/** The request ledger (docs/guides/usage.md) and recorded prompts (docs/guides/prompt-recording.md). */
export const LedgerSettings = StrictObject({
  retention_days: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    description: 'Days after which the record of a request is deleted.',
  }),
  usage_retention_days: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    description: 'Days after which usage by hour is deleted.',
  }),
  evidence: StringEnum(['optional', 'required'], {
    description:
      'Whether requests that cannot be recorded are answered (optional) or refused with 503 (required).',
  }),
  record_prompts: StringEnum(['off', 'masked', 'full'], {
    description:
      'Whether the texts of requests are recorded: not, as the firewall left them, or as they were ' +
      'received. Requires RECORD_KEY.',
  }),
  prompt_retention_days: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    description: 'Days after which a recorded prompt is deleted, at the latest with its request.',
  }),
  max_prompt_chars: Type.Integer({
    minimum: 1000,
    maximum: 10_000_000,
    description: 'Longer prompts are not recorded. Media does not count, and is never recorded.',
  }),
})
