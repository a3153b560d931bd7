import type { Content, Part } from './wire.ts'

/** A part with whose it is. Within one content, parts are ordered by `place`; those of the same place stay as they came. */
export interface Piece {
  readonly role: Content['role']
  readonly part: Part
  readonly place: number
}

/** The place of a part that is no tool result: after all of those. */
export const ANYWHERE = Number.MAX_SAFE_INTEGER

/** Neighbours of the same role become one content: Gemini wants all results of one model turn together. */
export function mergePieces(pieces: readonly Piece[]): readonly Content[] {
  const turns: { readonly role: Content['role']; readonly pieces: Piece[] }[] = []
  for (const piece of pieces) {
    const last = turns.at(-1)
    if (last?.role === piece.role) last.pieces.push(piece)
    else turns.push({ role: piece.role, pieces: [piece] })
  }
  return turns.map((turn) => ({
    role: turn.role,
    parts: turn.pieces.toSorted((one, other) => one.place - other.place).map(({ part }) => part),
  }))
}
