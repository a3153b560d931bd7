export { groupId, groups } from './groups.ts'
export { policies } from './policies.ts'
