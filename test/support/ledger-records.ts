import { newRequestId, requestIdAt } from '../../core/util/ids.ts'
import type { LedgerRecord } from '../../plugins/ledger/store/record.ts'

/** A record of an answered request, with the given differences. */
export function ledgerRecord(changes: Partial<LedgerRecord> & { readonly time?: number } = {}): LedgerRecord {
  const { time, ...fields } = changes
  return {
    requestId: time === undefined ? newRequestId() : requestIdAt(time),
    userId: 1,
    keyId: 'key_1',
    groups: [],
    endpoint: '/v1/chat/completions',
    requestedModel: 'gpt-4o',
    mode: 'balance',
    reason: 'The request names the model: openai/gpt-4o.',
    status: 200,
    error: null,
    provider: 'openai',
    model: 'gpt-4o',
    attempts: [{ provider: 'openai', model: 'gpt-4o', outcome: 'ok', ms: 120 }],
    rules: [],
    rulesPosition: 7,
    warnings: [],
    tokens: { input: 100, cached: 10, cacheWrite: 5, output: 20, reasoning: 3 },
    cost: 1_250_000,
    latencyMs: 130,
    firstTokenMs: null,
    isStream: false,
    isCacheHit: false,
    isAborted: false,
    traceId: null,
    prompt: null,
    ...fields,
  }
}
