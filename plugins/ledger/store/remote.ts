import type { RpcHandlers, RpcPeer } from '../../../core/process/rpc.ts'
import { LEDGER_TIMEOUTS_MS, type Ledger, type LedgerMethods } from './methods.ts'

/** Returns the handlers of the process that has the ledger. */
export function serveLedger(ledger: () => Ledger): RpcHandlers<LedgerMethods> {
  return {
    ledgerWrite: (params) => ledger().request('ledgerWrite', params),
    ledgerFind: (params) => ledger().request('ledgerFind', params),
    ledgerList: (params) => ledger().request('ledgerList', params),
    ledgerUsage: (params) => ledger().request('ledgerUsage', params),
    ledgerCosts: (params) => ledger().request('ledgerCosts', params),
    ledgerPrompt: (params) => ledger().request('ledgerPrompt', params),
    ledgerDeletePrompts: (params) => ledger().request('ledgerDeletePrompts', params),
    ledgerGiveFeedback: (params) => ledger().request('ledgerGiveFeedback', params),
    ledgerFeedback: (params) => ledger().request('ledgerFeedback', params),
    ledgerImportRatings: (params) => ledger().request('ledgerImportRatings', params),
    ledgerDeleteImported: (params) => ledger().request('ledgerDeleteImported', params),
    ledgerLastUse: (params) => ledger().request('ledgerLastUse', params),
    ledgerCopies: (params) => ledger().request('ledgerCopies', params),
    ledgerSeries: (params) => ledger().request('ledgerSeries', params),
    ledgerTail: (params) => ledger().request('ledgerTail', params),
  }
}

/** Uses the ledger of another process. */
export function createRemoteLedger(request: RpcPeer<LedgerMethods>['request']): Ledger {
  return {
    request: (method, params) => request(method, params, LEDGER_TIMEOUTS_MS[method]),
    close: async () => undefined,
  }
}
