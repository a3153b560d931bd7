import type {
  OperatorScope,
  ResourceDeclaration,
  ResourceEntity,
  ResourceScoping,
  TProperties,
} from '../contract/index.ts'
import type { EntityChange } from './changes.ts'
import type { ResourceState } from './commands.ts'
import { createNotFoundError } from './resource.ts'

/**
 * Tells what of a resource belongs to the groups of a scope. See docs/decisions/operators.md, "What is
 * outside a scope does not exist".
 */
export function createScoping<Entity extends ResourceEntity, Fields extends TProperties, Services>(
  declaration: Pick<ResourceDeclaration<Entity, Fields, Services>, 'name' | 'parent'>,
  scoped: ResourceScoping<Entity, Fields, Services>,
  state: Pick<ResourceState<Entity>, 'find' | 'parentOf'>,
) {
  const { parent } = declaration
  const includes = (scope: OperatorScope, entity: Entity) =>
    scoped.includes(entity, scope, state.parentOf?.(entity.id) ?? 0)

  return {
    includes,
    /** Throws 404. */
    require(scope: OperatorScope, id: Entity['id']): Entity {
      const entity = state.find(id)
      if (entity !== undefined && includes(scope, entity)) return entity
      throw createNotFoundError(declaration, id)
    },
    /** Throws 404. */
    requireParent(scope: OperatorScope, id: number): void {
      if (parent && !scoped.includesParent?.(id, scope)) throw createNotFoundError(parent, id)
    },
    filter: (scope: OperatorScope, entities: readonly Entity[]) =>
      entities.filter((entity) => includes(scope, entity)),
    /** Also what the entity was before and after the change must belong to the scope. */
    includesChange: (scope: OperatorScope, { event, before, after }: EntityChange<Entity>) =>
      [before, after].every((entity) => entity === undefined || includes(scope, entity)) &&
      scoped.includesEvent?.(event, scope) !== false,
  }
}
