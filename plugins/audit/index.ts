export type { LogEntry } from './audit-entries.ts'
export { createDiffEndpoint, createHistoryEndpoints } from './endpoints.ts'
export { createLostRaceFinder, describeLostRace } from './lost-races.ts'
export { createLogReader, type LogReader } from './read-log.ts'
export { SIMULATED_ENDPOINTS } from './schemas.ts'
export { showSimulatedError } from './show-decision.ts'
export {
  createRequestDecider,
  decideExchange,
  FIRST_DRAFT_ID,
  showDraftId,
  toSimulation,
} from './simulation.ts'
