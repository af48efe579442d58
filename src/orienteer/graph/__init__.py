"""Link graphs and the algorithms on them: arrays in, arrays out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from orienteer.public_names import PublicPackage

if TYPE_CHECKING:  # the public names: see orienteer.public_names
    from orienteer.graph.coverage import certificate as certificate
    from orienteer.graph.estimation.estimation import Estimate as Estimate
    from orienteer.graph.estimation.estimation import Estimation as Estimation
    from orienteer.graph.estimation.estimation import estimate_global_rank as estimate_global_rank
    from orienteer.graph.growing_graph import GrowingGraph as GrowingGraph
    from orienteer.graph.link_graph import LinkGraph as LinkGraph
    from orienteer.graph.navigational import navigational_rank as navigational_rank
    from orienteer.graph.pagerank import pagerank as pagerank
    from orienteer.graph.proved import Certificate as Certificate
    from orienteer.graph.survey.measured import Measured as Measured
    from orienteer.graph.survey.survey import survey as survey

sys.modules[__name__].__class__ = PublicPackage
