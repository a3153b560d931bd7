import { Nullable, StrictObject, Type } from '../../core/contract/index.ts'

/** The setting `audit`. */
export const AuditSettings = StrictObject({
  require_reason: Type.Boolean({
    description:
      'Whether changes by operators and commands are refused without a reason, in the header ' +
      'x-change-reason or the option --reason.',
  }),
  export: Type.Optional(
    Nullable(
      StrictObject(
        {
          webhook_url: Type.Optional(
            Type.String({
              pattern: '^https?://',
              description: 'URL that batches are posted to, signed with AUDIT_EXPORT_SECRET.',
            }),
          ),
          folder: Type.Optional(
            Type.String({ minLength: 1, description: 'Folder with a file of JSON lines per day.' }),
          ),
        },
        { minProperties: 1, maxProperties: 1 },
      ),
      { description: 'Where every entry of the audit trail is sent: a webhook or a folder.' },
    ),
  ),
})
