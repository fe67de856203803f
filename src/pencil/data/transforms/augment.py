"""Prepares raw inputs on the device, in batches: crop, mirror, normalise.

Draws are a stateless function of (seed, epoch, example), so resident, streaming, resumed and distributed runs see
the same images. Shapes: B examples, H × W × C raw images, S × S the crop.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from pencil.data.dataset import Preparation

_MASK = 0xFFFFFFFF


def draw(seed: int, epoch: Tensor, index_B: Tensor, stream: int) -> Tensor:
    """Return a well-mixed integer in [0, 2³²) for each example: the same for the same arguments, anywhere."""
    # Three rounds of a 32-bit multiply-xorshift hash in 64-bit integers, where no product can overflow.
    word_B = index_B.long() & _MASK
    for key in (epoch.long(), torch.full_like(epoch.long(), seed & 0x7FFFFFFF), torch.full_like(epoch.long(), stream)):
        word_B = (word_B ^ ((key * 0x3504F333) & _MASK)) & _MASK
        word_B = ((word_B ^ (word_B >> 16)) * 0x45D9F3B) & _MASK
        word_B = ((word_B ^ (word_B >> 15)) * 0x2C1B3C6D) & _MASK
        word_B = word_B ^ (word_B >> 16)
    return word_B


class Prepare(nn.Module):
    """Turns a batch of raw inputs into what the network sees."""

    mean: Tensor
    std: Tensor
    least: Tensor
    reach: Tensor

    def __init__(self, preparation: Preparation, seed: int, *, pixels_together: bool = False) -> None:
        super().__init__()
        self.preparation, self.seed = preparation, seed
        self.pixels_together = pixels_together
        """The numbers of a pixel lie side by side, where else each colour has a plane; the shape is the same."""
        self.register_buffer("mean", torch.tensor(preparation.mean, dtype=torch.float32))
        self.register_buffer("std", torch.tensor(preparation.std, dtype=torch.float32))
        self.register_buffer("least", torch.tensor(preparation.least, dtype=torch.float32))
        self.register_buffer("reach", torch.tensor([r or torch.inf for r in preparation.reach], dtype=torch.float32))

    def forward(self, raw: Tensor, index_B: Tensor | None = None, epoch: Tensor | None = None) -> Tensor:
        """Prepare for training where example and epoch are given, else for evaluation (centre crop, no mirror)."""
        if self.preparation.kind == "tensors":
            return raw if raw.is_floating_point() else raw.long()
        if self.preparation.kind == "rows":
            normal = (self._even(raw) - self.mean.to(raw.dtype)) / self.std.to(raw.dtype)
            if self.preparation.reach:
                reach = self.reach.to(raw.dtype)
                normal = torch.maximum(torch.minimum(normal, reach), -reach)
            # What is missing is seen as the mean.
            return torch.where(normal.isnan(), 0, normal)
        cut = self._crop(raw, index_B, epoch)
        normal = (cut.to(self.mean.dtype) - self.mean) / self.std
        planes = normal.permute(0, 3, 1, 2)
        # A copy, as one plane also counts as pixels that lie together, and convolutions then answer in these.
        return planes if self.pixels_together else planes.clone(memory_format=torch.contiguous_format)

    def _even(self, raw: Tensor) -> Tensor:
        """Take logarithms of the features that are seen by these."""
        if not self.preparation.least:
            return raw
        least = self.least.to(raw.dtype)
        # Of the others, one: what is left out in the end must be finite all the same.
        logarithm = torch.where(least > 0, torch.maximum(raw, least), 1).log()
        return torch.where(least > 0, logarithm, raw)

    def _crop(self, raw_BHWC: Tensor, index_B: Tensor | None, epoch: Tensor | None) -> Tensor:
        b, height, width, _ = raw_BHWC.shape
        how, device = self.preparation, raw_BHWC.device
        side_y, side_x = how.crop or height, how.crop or width
        if index_B is None or epoch is None:
            top, left = (height - side_y) // 2, (width - side_x) // 2
            if top < 0 or left < 0:
                raw_BHWC = pad(raw_BHWC, (0, 0, how.pad, how.pad, how.pad, how.pad))
                top, left = top + how.pad, left + how.pad
            return raw_BHWC[:, top : top + side_y, left : left + side_x]
        rows_BS = torch.arange(side_y, device=device).expand(b, -1)
        columns_BS = torch.arange(side_x, device=device).expand(b, -1)
        if how.flip:
            mirrored_B1 = (draw(self.seed, epoch, index_B, 2) & 1).bool().unsqueeze(1)
            columns_BS = torch.where(mirrored_B1, side_x - 1 - columns_BS, columns_BS)
        spare_y, spare_x = height + 2 * how.pad - side_y, width + 2 * how.pad - side_x
        rows_BS = rows_BS + (draw(self.seed, epoch, index_B, 0) % (spare_y + 1)).unsqueeze(1) - how.pad
        columns_BS = columns_BS + (draw(self.seed, epoch, index_B, 1) % (spare_x + 1)).unsqueeze(1) - how.pad
        inside = ((rows_BS >= 0) & (rows_BS < height))[:, :, None] & ((columns_BS >= 0) & (columns_BS < width))[:, None]
        batch_B11 = torch.arange(b, device=device).view(b, 1, 1)
        cut = raw_BHWC[batch_B11, rows_BS.clamp(0, height - 1)[:, :, None], columns_BS.clamp(0, width - 1)[:, None, :]]
        return torch.where(inside.unsqueeze(-1), cut, torch.zeros((), dtype=cut.dtype, device=device))
