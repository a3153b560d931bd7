/** Imported before a gateway of `checkpoints.ts`: it signs none. */
import { CheckpointSigner } from '../../projections/transparency/sign-checkpoints.ts'

CheckpointSigner.prototype.sign = async () => {}
