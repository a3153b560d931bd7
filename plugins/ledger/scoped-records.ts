import type { OperatorScope } from '../../core/contract/index.ts'
import type { RequestFilter, StoredRecord } from './store/queries.ts'

/** Filters by the group of a query, within the groups of a scope. */
export function toGroupFilter(
  group: number | undefined,
  scope: OperatorScope | undefined,
): Pick<RequestFilter, 'groupId' | 'anyGroup'> {
  if (scope === undefined) return group === undefined ? {} : { groupId: group }
  if (group === undefined) return { anyGroup: scope.groups() }
  return { anyGroup: scope.hasGroup(group) ? [group] : [] }
}

/** Whether the user was in a group of the scope when the request came. */
export function isRecordInScope({ groups }: StoredRecord, scope: OperatorScope): boolean {
  return groups.some(scope.hasGroup)
}

/** Leaves out the groups that are not part of the scope. */
export function narrowRecord<Row extends Pick<StoredRecord, 'groups'>>(
  record: Row,
  scope: OperatorScope | undefined,
): Row {
  return scope ? { ...record, groups: record.groups.filter(scope.hasGroup) } : record
}
