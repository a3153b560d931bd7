export { planFile, type RulesFileServices } from './apply.ts'
export type { RulesFileState, RulesPlan, StreamOwner, StreamWrite, ToId } from './planned.ts'
export { type RulesFile, RulesFileSchema } from './schemas.ts'
